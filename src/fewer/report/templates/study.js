"use strict";
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
if (still) document.documentElement.style.scrollBehavior = "auto";

for (const holder of document.querySelectorAll(".plot")) {
  const figure = JSON.parse(document.getElementById(holder.dataset.figure).textContent);
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--soft").trim();
  figure.layout.font = Object.assign({}, figure.layout.font, { color: ink });
  figure.layout.autosize = true;
  Plotly.newPlot(holder, figure.data, figure.layout, { responsive: true, displaylogo: false, displayModeBar: false });
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  const ink = getComputedStyle(document.documentElement).getPropertyValue("--soft").trim();
  for (const holder of document.querySelectorAll(".plot")) Plotly.relayout(holder, { "font.color": ink });
});
addEventListener("beforeprint", () => {
  for (const holder of document.querySelectorAll(".plot")) Plotly.Plots.resize(holder);
});

const valueOf = (cell, kind) => {
  const text = cell.dataset.value ?? cell.textContent.trim();
  if (kind !== "number") return text.toLocaleLowerCase();
  return text === "" ? Number.NEGATIVE_INFINITY : Number(text);
};
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, place) => {
    heading.querySelector("button").addEventListener("click", () => {
      const kind = heading.dataset.kind;
      const now = heading.getAttribute("aria-sort");
      const first = kind === "number" && place > 0 ? "descending" : "ascending";
      const order = now === "none" ? first : now === "ascending" ? "descending" : "ascending";
      for (const other of headings) other.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => sign * compare(valueOf(a.cells[place], kind), valueOf(b.cells[place], kind)));
      table.tBodies[0].append(...rows);
    });
  });
}

const filter = document.getElementById("filter");
if (filter) {
  const rows = [...document.getElementById("columns").tBodies[0].rows];
  const shown = document.getElementById("shown");
  const refresh = () => {
    const wanted = filter.value.toLocaleLowerCase();
    let n = 0;
    for (const row of rows) {
      const fits = row.textContent.toLocaleLowerCase().includes(wanted);
      row.hidden = !fits;
      n += fits;
    }
    shown.textContent = wanted ? `${n} of ${rows.length} columns` : `${rows.length} columns`;
  };
  filter.addEventListener("input", refresh);
  refresh();
}
