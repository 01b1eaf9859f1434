"use strict";

// A cell is sorted by its number if it has one, otherwise by its text.
const sortKey = (row, column) => {
  const cell = row.cells[column];
  return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
};

const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));

// The headings of the columns; those of groups stand above.
const headings = (table) => table.tHead.rows[table.tHead.rows.length - 1].cells;

function sortBy(table, heading) {
  const column = heading.cellIndex;
  const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const body = table.tBodies[0];
  const rows = [...body.rows].sort((a, b) => direction * compare(sortKey(a, column), sortKey(b, column)));
  body.append(...rows);
  for (const other of headings(table)) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
}

// Every word must occur in the row; a word after a minus sign must not.
function filter(table, words, shown) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    const fits = (word) => (word.length > 1 && word[0] === "-" ? !text.includes(word.slice(1)) : text.includes(word));
    row.hidden = !wanted.every(fits);
    count += row.hidden ? 0 : 1;
  }
  shown.textContent = `${count} of ${table.tBodies[0].rows.length} rows`;
}

for (const box of document.querySelectorAll(".table")) {
  const table = box.querySelector("table");
  for (const heading of headings(table)) {
    heading.addEventListener("click", () => sortBy(table, heading));
    heading.addEventListener("keydown", (event) => { if (event.key === "Enter") sortBy(table, heading); });
  }
  const input = box.querySelector("input");
  if (input) {
    const shown = box.querySelector(".shown");
    input.addEventListener("input", () => filter(table, input.value, shown));
    filter(table, "", shown);
  }
}

const curves = [["stationarity", "#0072b2", ""], ["feasibility", "#d98c00", "7 4"], ["complementarity", "#009e73", "2 3"]];

// 1, 2 or 5 times a power of ten, for at most eight intervals.
function roundStep(last) {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(last / 8)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => last / step <= 8);
}

const escaped = (words) => {
  const element = document.createElement("span");
  element.textContent = words;
  return element.innerHTML;
};

// The courses of runs, one below the other on the same scales: logarithms of the residuals against iterations.
function draw(keys) {
  const [width, panel, left, right, top] = [760, keys.length > 1 ? 220 : 330, 58, 744, 34];
  const all = keys.flatMap((key) => traces.get(key));
  const values = all.flatMap((point) => point[1]).filter((value) => value !== null);
  const low = Math.floor(Math.min(-7, ...values));
  const high = Math.min(12, Math.ceil(Math.max(0, ...values)));
  const last = Math.max(1, ...all.map((point) => point[0]));
  const x = (iteration) => left + ((right - left) * iteration) / last;
  const parts = [];
  const text = (px, py, anchor, words, style = "") =>
    parts.push(`<text x="${px}" y="${py}" text-anchor="${anchor}" ${style}>${words}</text>`);
  const line = ([, color, dashes], d) =>
    parts.push(`<path d="${d}" fill="none" stroke="${color}" stroke-width="2" stroke-linecap="round" stroke-dasharray="${dashes}"/>`);
  keys.forEach((key, number) => {
    const upper = top + number * (panel + 62);
    const bottom = upper + panel;
    const y = (value) => bottom - (panel * (Math.min(value, high) - low)) / (high - low);
    text(left, upper - 14, "start", escaped(key), 'font-weight="600"');
    const step = high - low > 14 ? 4 : 2;
    for (let exponent = Math.ceil(low / step) * step; exponent <= high; exponent += step) {
      parts.push(`<path d="M${left} ${y(exponent)}H${right}" stroke="#e4e4e4"/>`);
      text(left - 8, y(exponent) + 4, "end", `1e${exponent}`, 'fill="#555"');
    }
    parts.push(`<path d="M${left} ${y(-6)}H${right}" stroke="#888" stroke-dasharray="2 3"/>`);
    for (let mark = 0; mark <= last; mark += roundStep(last)) text(x(mark), bottom + 18, "middle", mark, 'fill="#555"');
    curves.forEach((curve, k) => {
      let pen = "M";
      let path = "";
      for (const [iteration, logs] of traces.get(key)) {
        if (logs[k] === null) { pen = "M"; continue; }
        path += `${pen}${x(iteration).toFixed(1)} ${y(logs[k]).toFixed(1)}${pen === "M" ? "h0" : ""}`;
        pen = "L";
      }
      line(curve, path);
    });
  });
  const end = top + keys.length * (panel + 62);
  text((left + right) / 2, end - 26, "middle", "iteration");
  curves.forEach((curve, k) => {
    line(curve, `M${left + 170 * k} ${end}h30`);
    text(left + 170 * k + 38, end + 4, "start", curve[0]);
  });
  parts.push(`<path d="M${left + 510} ${end}h30" stroke="#888" stroke-dasharray="2 3"/>`);
  text(left + 548, end + 4, "start", "1e-6");
  const words = "Residuals as each solver saw them on its way: Tangor unscaled and in the 2-norm; Ipopt in its own scaling, in the maximum norm " +
    "and without complementarity. What is judged in the tables is recomputed. Zeros are drawn at 1e-17.";
  const font = `font-family="system-ui,'DejaVu Sans',sans-serif" font-size="12"`;
  return `<svg viewBox="0 0 ${width} ${end + 14}" width="${width}" ${font}>${parts.join("")}</svg><p class="origin">${words}</p>`;
}

// Courses have an address of their own: #trace=KEY, or several with | between them.
const dialog = document.getElementById("trace");
function showAddress() {
  const keys = decodeURIComponent(location.hash).replace(/^#trace=/, "").split("|").filter((key) => traces.has(key));
  if (!location.hash.startsWith("#trace=") || keys.length === 0) return;
  document.getElementById("picture").innerHTML = draw(keys);
  if (!dialog.open) dialog.showModal();
}
window.addEventListener("hashchange", showAddress);
document.getElementById("close").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
showAddress();
