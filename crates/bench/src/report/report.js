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

// A cell of the row must begin with every word, and none with a word after a minus sign: "solved" does not find "not solved". Words in
// quotes are whole cells.
function tests(words) {
  const pieces = words.toLowerCase().match(/-?"[^"]*"|\S+/g) ?? [];
  return pieces.map((piece) => {
    const out = piece.length > 1 && piece[0] === "-";
    const word = out ? piece.slice(1) : piece;
    const whole = word.length > 1 && word.startsWith('"') && word.endsWith('"') ? word.slice(1, -1) : null;
    const found = (cells) => cells.some((text) => (whole === null ? text.startsWith(word) : text === whole));
    return (cells) => found(cells) !== out;
  });
}

// Several words that a cell of the table begins with are one: "feasible only" needs no quotes.
function testsOf(words, rows) {
  const phrase = words.trim().toLowerCase();
  const begins = (cells) => cells.some((text) => text.startsWith(phrase));
  return phrase.includes(" ") && rows.some(begins) ? [begins] : tests(words);
}

function filter(table, words, choices, shown) {
  const texts = (row) => [...row.cells].map((cell) => cell.textContent.trim().toLowerCase());
  const all = testsOf(words, [...table.tBodies[0].rows].map(texts));
  let count = 0;
  for (const row of table.tBodies[0].rows) {
    const cells = texts(row);
    const chosen = choices.every((choice) => choice.value === "" || cells[choice.dataset.column] === choice.value.toLowerCase());
    row.hidden = !(chosen && all.every((test) => test(cells)));
    count += row.hidden ? 0 : 1;
  }
  shown.textContent = `${count} of ${table.tBodies[0].rows.length} rows`;
}

// Columns of words with a few values, such as verdicts, get a choice of their own.
function offerChoices(table, box) {
  const rows = [...table.tBodies[0].rows];
  const choices = [];
  [...headings(table)].forEach((heading, column) => {
    if (heading.classList.contains("number")) return;
    const values = [...new Set(rows.map((row) => row.cells[column].textContent.trim()))];
    if (values.length < 2 || values.length > 8 || rows.length < 3 * values.length) return;
    const label = document.createElement("label");
    const select = document.createElement("select");
    const group = table.tHead.rows.length > 1 ? `${groupOf(table, column)} ` : "";
    label.textContent = `${group}${heading.textContent} `;
    select.dataset.column = column;
    for (const value of ["", ...values.sort()]) select.append(new Option(value === "" ? "all" : value, value));
    label.append(select);
    box.append(label);
    choices.push(select);
  });
  return choices;
}

// The heading above a column, where there is one.
function groupOf(table, column) {
  let end = 0;
  for (const cell of table.tHead.rows[0].cells) {
    end += cell.colSpan;
    if (column < end) return cell.textContent;
  }
  return "";
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
    const choices = offerChoices(table, box.querySelector(".filters"));
    const renew = () => filter(table, input.value, choices, shown);
    [input, ...choices].forEach((control) => control.addEventListener("input", renew));
    box.querySelector(".filters").append(shown);
    renew();
  }
}

const markWhatMovesSideways = () => {
  for (const figure of document.querySelectorAll("figure")) figure.classList.toggle("wide", figure.scrollWidth > figure.clientWidth);
  for (const box of document.querySelectorAll(".scroll")) box.parentElement.classList.toggle("wide", box.scrollWidth > box.clientWidth);
};
window.addEventListener("resize", markWhatMovesSideways);
markWhatMovesSideways();

const curves = [["stationarity", "#0072b2", ""], ["feasibility", "#d98c00", "7 4"], ["complementarity", "#009e73", "2 3"]];

// 1, 2 or 5 times a power of ten, for at most so many intervals.
function roundStep(last, most) {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(last / most)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => last / step <= most);
}

const escaped = (words) => {
  const element = document.createElement("span");
  element.textContent = words;
  return element.innerHTML;
};

// The courses of runs, one below the other on the same scales: logarithms of the residuals against iterations.
function draw(keys) {
  // As wide as the screen allows: letters keep their size.
  const width = Math.max(300, Math.min(760, window.innerWidth - 70));
  const [panel, left, right, top] = [keys.length > 1 ? 220 : 330, 58, width - 16, 34];
  const marks = width < 500 ? 4 : 8;
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
      parts.push(`<path d="M${left} ${y(exponent)}H${right}" stroke="var(--grid)"/>`);
      text(left - 8, y(exponent) + 4, "end", `1e${exponent}`, 'opacity="0.75"');
    }
    parts.push(`<path d="M${left} ${y(-6)}H${right}" stroke="var(--mark)" stroke-dasharray="2 3"/>`);
    for (let mark = 0; mark <= last; mark += roundStep(last, marks)) text(x(mark), bottom + 18, "middle", mark, 'opacity="0.75"');
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
  const legend = [...curves.map((curve) => curve[0]), "1e-6"];
  const inRow = width < 700 ? 2 : 4;
  const [first, apart] = width < 400 ? [16, 160] : [left, 170];
  legend.forEach((name, k) => {
    const [px, py] = [first + apart * (k % inRow), end + 20 * Math.floor(k / inRow)];
    if (curves[k]) line(curves[k], `M${px} ${py}h30`);
    else parts.push(`<path d="M${px} ${py}h30" stroke="var(--mark)" stroke-dasharray="2 3"/>`);
    text(px + 38, py + 4, "start", name);
  });
  const words = "Residuals as each solver saw them on its way: Tangor unscaled and in the 2-norm; Ipopt in its own scaling, in the maximum norm " +
    "and without complementarity. What the tables show is recomputed. Zeros are drawn at 1e-17.";
  const font = `font-family="system-ui,'DejaVu Sans',sans-serif" font-size="12"`;
  return `<svg viewBox="0 0 ${width} ${end + 14 + 20 * (legend.length / inRow - 1)}" width="${width}" ${font}>${parts.join("")}</svg><p class="origin">${words}</p>`;
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
