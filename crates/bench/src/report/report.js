"use strict";

// A cell is sorted by its number if it has one, otherwise by its text.
const sortKey = (row, column) => {
  const cell = row.cells[column];
  return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
};

const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));

function sortBy(table, heading) {
  const column = heading.cellIndex;
  const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
  const body = table.tBodies[0];
  const rows = [...body.rows].sort((a, b) => direction * compare(sortKey(a, column), sortKey(b, column)));
  body.append(...rows);
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
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
  for (const heading of table.tHead.rows[0].cells) {
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

// The course of a run: logarithms of the residuals against iterations.
function draw(key) {
  const points = traces.get(key);
  const [width, height, left, top] = [760, 400, 58, 42];
  const [right, bottom] = [width - 16, height - 66];
  const values = points.flatMap((point) => point[1]).filter((value) => value !== null);
  const low = Math.floor(Math.min(-7, ...values));
  const high = Math.min(12, Math.ceil(Math.max(0, ...values)));
  const last = Math.max(1, points[points.length - 1][0]);
  const x = (iteration) => left + ((right - left) * iteration) / last;
  const y = (value) => bottom - ((bottom - top) * (Math.min(value, high) - low)) / (high - low);
  const parts = [];
  const text = (px, py, anchor, words, style = "") =>
    parts.push(`<text x="${px}" y="${py}" text-anchor="${anchor}" ${style}>${words}</text>`);
  for (let exponent = Math.ceil(low / 2) * 2; exponent <= high; exponent += 2) {
    parts.push(`<path d="M${left} ${y(exponent)}H${right}" stroke="#e4e4e4"/>`);
    text(left - 8, y(exponent) + 4, "end", `1e${exponent}`, 'fill="#555"');
  }
  parts.push(`<path d="M${left} ${y(-6)}H${right}" stroke="#999" stroke-dasharray="1 3"/>`);
  for (let k = 0; k <= 5; k++) text(x((k * last) / 5), bottom + 18, "middle", Math.round((k * last) / 5), 'fill="#555"');
  text((left + right) / 2, bottom + 36, "middle", "iteration");
  curves.forEach(([name, color, dashes], k) => {
    let pen = "M";
    let path = "";
    for (const [iteration, logs] of points) {
      if (logs[k] === null) { pen = "M"; continue; }
      path += `${pen}${x(iteration).toFixed(1)} ${y(logs[k]).toFixed(1)}${pen === "M" ? "h0" : ""}`;
      pen = "L";
    }
    const line = `fill="none" stroke="${color}" stroke-width="2" stroke-linecap="round" stroke-dasharray="${dashes}"`;
    parts.push(`<path d="${path}" ${line}/><path d="M${left + 190 * k} ${height - 12}h30" ${line}/>`);
    text(left + 190 * k + 38, height - 8, "start", name);
  });
  const title = document.createElement("span");
  title.textContent = key;
  text(left, 20, "start", title.innerHTML, 'font-weight="600"');
  return `<svg viewBox="0 0 ${width} ${height}" width="${width}" font-family="system-ui,'DejaVu Sans',sans-serif" font-size="12">${parts.join("")}</svg>`;
}

// A course has an address of its own: #trace=KEY.
const dialog = document.getElementById("trace");
function showAddress() {
  const key = decodeURIComponent(location.hash).replace(/^#trace=/, "");
  if (!location.hash.startsWith("#trace=") || !traces.has(key)) return;
  document.getElementById("picture").innerHTML = draw(key);
  if (!dialog.open) dialog.showModal();
}
window.addEventListener("hashchange", showAddress);
document.getElementById("close").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
showAddress();
