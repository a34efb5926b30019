"""Holds the style of the page of a comparison, and the script that sorts its table and enlarges its pictures."""

STYLE = """
body { margin: 2.5rem auto; max-width: 1560px; padding: 0 1.5rem; background: #fff; color: #1f2933;
       font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; font-weight: 600; }
h2 { font-size: 1.1rem; font-weight: 600; margin: 3rem 0 .5rem; padding-top: 1rem; border-top: 1px solid #e4e8ee; }
a { color: #0b5cad; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .4rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid #e4e8ee; }
th { font-weight: 600; color: #52606d; border-bottom: 2px solid #cbd2d9; vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: #fff; }
.runs :is(th, td):nth-child(2), .options :is(th, td) { text-align: left; }
.options td { max-width: 24rem; overflow-wrap: anywhere; white-space: normal; }
tbody tr:hover td, tr.baseline td { background: #f5f8fc; }
.best { font-weight: 700; }
.notes, dt { color: #616e7c; font-size: .85rem; }
.notes p { margin: .3rem 0; overflow-wrap: anywhere; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .5rem 0; padding: 0; list-style: none; }
.key { width: 28px; height: 8px; margin-right: .4rem; vertical-align: middle; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); gap: 1rem; }
.charts svg { width: 100%; max-width: 560px; height: auto; }
.charts text { font-size: 11px; fill: #52606d; }
.charts .title { font-size: 12px; font-weight: 600; fill: #1f2933; }
.charts .line { stroke: #e4e8ee; fill: none; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: .5rem 0 1rem; }
dt { line-height: 1.75; }
dd { margin: 0; overflow-wrap: anywhere; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .9rem 1rem; border: 1px solid #e4e8ee; border-radius: 8px; overflow-wrap: anywhere; }
figcaption { margin-bottom: .6rem; }
th button { padding: 0; border: 0; background: none; color: inherit; font: inherit; text-align: inherit;
            cursor: pointer; }
[aria-sort=ascending] button::after { content: " ▲"; }
[aria-sort=descending] button::after { content: " ▼"; }
figure button { display: block; width: 100%; padding: 0; border: 0; background: none; cursor: zoom-in; }
img { display: block; max-width: 100%; max-height: 480px; margin: 0 auto; }
img.tradeoff { width: min(100%, 920px); max-height: none; margin: .5rem 0 1rem; }
dialog { max-width: 96vw; max-height: 96vh; padding: 1rem; border: 0; border-radius: 8px; cursor: zoom-out; }
dialog img { max-width: none; max-height: none; }
dialog::backdrop { background: #0008; }
.none { color: #707d8a; }
@media (max-width: 640px) {
  body { margin-top: 1rem; padding: 0 .8rem; }
  th, td { padding: .35rem .5rem; }
  .runs td:first-child, .options td:first-child { min-width: 7.5rem; max-width: 9rem;
    white-space: normal; overflow-wrap: break-word; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .4rem; }
}
"""

# A modal dialog is closed by Escape, which is the browser's doing, and here by a click.
SCRIPT = """
const dialog = document.querySelector("dialog");
for (const button of document.querySelectorAll("figure button"))
  button.onclick = () => { dialog.replaceChildren(button.firstElementChild.cloneNode()); dialog.showModal(); };
dialog.onclick = () => dialog.close();

// A click sorts by a column, the next one in the other direction; cells that are not known stay last.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstElementChild.onclick = () => {
    const sign = head.ariaSort === "descending" ? 1 : -1;
    heads.forEach(other => other.ariaSort = "none");
    head.ariaSort = sign > 0 ? "ascending" : "descending";
    const key = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const unknown = row => key(row) === "-" || key(row) === "nan";
    const compare = (a, b) => unknown(a) - unknown(b) || sign * (Number(key(a)) - Number(key(b)) || 0)
      || sign * key(a).localeCompare(key(b));
    body.append(...[...body.rows].sort((a, b) => compare(a, b)));
  });
}
"""
