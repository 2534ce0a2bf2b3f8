// The page's script: shows the tables in the element #data. It adds their values to the page as text nodes only.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const ROWS = { clients: 25 };
const ROWS_ELSEWHERE = 10;
const PRINTED_ROWS = { who_breaks: 200, clients: 100 };
const PRINTED_ROWS_ELSEWHERE = 20;
const SHOWN = 3;
const DRAWN_LOGS = 50;
const COLOURS = {
  "would break": "bad", "works, but not later": "warn", "cannot be judged": "unsure", "refused already": "bad",
  "fine as far as seen": "unsure", "fine": "good",
  "error": "bad", "warning": "warn", "info": "unsure",
};
const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
const numbers = new Intl.NumberFormat("en");
const tables = {};

// Make an element with attributes and children; a child that is not a node becomes text.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") for (const [event, action] of Object.entries(value)) made.addEventListener(event, action);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

function time(seconds) {
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
}

function bytes(number) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let size = number;
  let unit = 0;
  while (Math.abs(size) >= 1000 && unit < units.length - 1) { size /= 1000; unit += 1; }
  return `${unit ? size.toFixed(1) : numbers.format(size)} ${units[unit]}`;
}

function duration(milliseconds) {
  if (Math.abs(milliseconds) < 1000) return `${numbers.format(Number(milliseconds.toPrecision(2)))} ms`;
  if (milliseconds < 120000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return milliseconds < 7200000 ? `${(milliseconds / 60000).toFixed(1)} min` : `${(milliseconds / 3600000).toFixed(1)} h`;
}

function list(values) {
  const more = values.length - SHOWN;
  return more > 0 ? `${values.slice(0, SHOWN).join(", ")} and ${more} more` : values.join(", ");
}

// Return a value as text, for a cell and for the search.
function text(value, kind) {
  if (value === null || value === undefined) return "";
  if (kind === "moment") return time(value);
  if (kind === "time") return time(value).slice(0, 16);
  if (kind === "day") return time(value).slice(0, 10);
  if (kind === "duration") return duration(value);
  if (kind === "count") return numbers.format(value);
  if (kind === "bytes") return bytes(value);
  if (kind === "flag") return value ? "yes" : "no";
  if (kind === "texts") return list(value);
  return String(value);
}

function cell(value, { kind, label }, client) {
  const name = kind === "client" ? "th" : "td";
  const made = element(name, { class: kind, scope: name === "th" ? "row" : null, "data-label": label });
  if (kind === "client" && client !== undefined && client !== null && client < data.tables.clients.rows.length) {
    made.append(element("a", { href: `#client-${client}` }, text(value, kind)));
  } else if (kind === "badge") {
    made.append(element("span", { class: COLOURS[value] || "" }, value));
  } else if (value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length)) {
    made.append(element("span", { class: "none" }, "–"));
  } else if (kind === "lines") {
    made.append(element("ul", {}, ...value.map((line) => element("li", {}, line))));
  } else {
    made.append(text(value, kind));
  }
  return made;
}

// A box for a table. If the table is wider than the page, each row becomes a list of labels and values.
function fitted(caption, table) {
  const box = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption }, table);
  box.fit = () => {
    table.classList.remove("stacked");
    table.classList.toggle("stacked", box.scrollWidth > box.clientWidth);
  };
  let width = 0;
  new ResizeObserver(() => {
    if (box.clientWidth !== width) { width = box.clientWidth; box.fit(); }
  }).observe(box);
  return box;
}

function compare(one, other, kind) {
  if (kind === "texts" || kind === "lines") return collator.compare(one.join(), other.join());
  return typeof one === "string" ? collator.compare(one, other) : one - other;
}

// A table with search, filters, sorting and pages; it calls `shown` with the rows of the current page.
class DataTable {
  constructor(name, spec, slot, shown) {
    slot.replaceChildren();
    Object.assign(this, { name, slot, shown, columns: spec.columns, caption: spec.caption, cut: spec.cut });
    this.rows = spec.rows.map((values, index) => ({ values, index }));
    this.first = 0;
    this.size = ROWS[name] || ROWS_ELSEWHERE;
    this.sorted = { column: -1, down: false };
    this.filters = new Map(Object.entries(spec.chosen).map(([column, value]) => [Number(column), value]));
    this.search = "";
    this.build();
    this.update();
  }

  client(row) {
    return this.name === "clients" ? row.index : row.values[this.columns.length];
  }

  build() {
    const controls = element("div", { class: "controls", role: "search", "aria-label": this.caption });
    this.status = element("p", { class: "status", role: "status" });
    if (this.rows.length > this.size) {
      this.input = element("input", { type: "search", on: { input: () => this.choose(() => { this.search = this.input.value.toLowerCase(); }) } });
      controls.append(element("label", {}, "Search", this.input));
    }
    this.selects = new Map();
    this.columns.forEach((column, index) => {
      const values = column.filtered ? [...new Set(this.rows.map((row) => row.values[index]))].filter((value) => value !== null) : [];
      if (values.length < 2) return;
      const select = element("select", { on: { change: () => this.choose(() => this.filters.set(index, select.value)) } }, element("option", { value: "" }, "all"));
      for (const value of values.sort(collator.compare)) select.append(element("option", { value }, value));
      select.value = this.filters.get(index) || "";
      this.selects.set(index, select);
      controls.append(element("label", {}, column.label, select));
    });
    controls.append(this.status);
    controls.hidden = !this.input && !this.selects.size;
    this.heads = this.columns.map((column, index) => {
      const button = element("button", { type: "button", on: { click: () => this.sort(index) } }, column.label);
      return element("th", { scope: "col", class: column.kind, "aria-sort": "none" }, button);
    });
    this.body = element("tbody");
    const table = element("table", { id: `${this.name}-table` }, element("caption", {}, this.caption), element("thead", {}, element("tr", {}, ...this.heads)), this.body);
    this.previous = element("button", { type: "button", on: { click: () => this.turn(-1) } }, "Previous");
    this.next = element("button", { type: "button", on: { click: () => this.turn(1) } }, "Next");
    this.pages = element("div", { class: "pages" }, this.previous, this.next);
    this.box = fitted(this.caption, table);
    this.slot.append(controls, this.box, this.pages);
    if (this.cut) this.slot.append(element("p", { class: "cut" }, this.cut));
  }

  choose(change) {
    change();
    this.first = 0;
    this.update();
  }

  turn(pages) {
    this.first += pages * this.size;
    this.update();
  }

  sort(column) {
    const isNumber = ["count", "bytes", "time", "day", "moment", "flag", "duration"].includes(this.columns[column].kind);
    const down = this.sorted.column === column ? !this.sorted.down : isNumber;
    this.choose(() => { this.sorted = { column, down }; });
  }

  reset() {
    this.filters.clear();
    this.search = "";
    if (this.input) this.input.value = "";
    for (const select of this.selects.values()) select.value = "";
  }

  words(row) {
    row.words ??= this.columns.map((c, index) => {
      const value = row.values[index];
      return Array.isArray(value) ? value.join(" ") : text(value, c.kind);
    }).join("\n").toLowerCase();
    return row.words;
  }

  matching() {
    const filters = [...this.filters].filter(([, value]) => value !== "");
    const rows = this.rows.filter((row) => filters.every(([index, value]) => row.values[index] === value) && (!this.search || this.words(row).includes(this.search)));
    const { column, down } = this.sorted;
    if (column < 0) return rows;
    const isEmpty = (row) => row.values[column] === null || row.values[column] === "";
    return rows.sort((one, other) => isEmpty(one) - isEmpty(other) || (isEmpty(one) ? 0 : (down ? -1 : 1) * compare(one.values[column], other.values[column], this.columns[column].kind)) || one.index - other.index);
  }

  update() {
    const matching = this.matching();
    const rows = matching.slice(this.first, this.first + this.size);
    this.body.replaceChildren(...rows.map((row) => element("tr", {}, ...this.columns.map((c, index) => cell(row.values[index], c, this.client(row))))));
    if (!rows.length) this.body.append(element("tr", {}, element("td", { colspan: this.columns.length, class: "none" }, this.rows.length ? "No row fits." : "None.")));
    this.heads.forEach((head, index) => head.setAttribute("aria-sort", index !== this.sorted.column ? "none" : this.sorted.down ? "descending" : "ascending"));
    const part = matching.length > rows.length ? `${numbers.format(this.first + 1)} to ${numbers.format(this.first + rows.length)} of ` : "";
    const all = matching.length === this.rows.length ? "" : `, ${numbers.format(this.rows.length)} in all`;
    this.status.textContent = `${part}${numbers.format(matching.length)} ${matching.length === 1 ? "row" : "rows"}${all}`;
    this.previous.disabled = this.first === 0;
    this.next.disabled = this.first + this.size >= matching.length;
    this.pages.hidden = matching.length <= this.size;
    this.box.fit();
    if (this.shown) this.shown(rows);
  }

  // Turn to the page with a row; if search or filters hide the row, reset them first.
  reveal(index) {
    if (!this.matching().some((row) => row.index === index)) this.reset();
    this.first = Math.floor(this.matching().findIndex((row) => row.index === index) / this.size) * this.size;
    this.update();
  }
}

function simpleTable(caption, columns, rows) {
  const heads = columns.map((column) => element("th", { scope: "col", class: column.kind }, column.label));
  const body = rows.map((row) => element("tr", {}, ...columns.map((column, index) => cell(row[index], column))));
  const table = element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...body));
  return fitted(caption, table);
}

function columns(...pairs) {
  return pairs.map(([label, kind]) => ({ label, kind }));
}

// Show when a client was connected: one cell per bucket, darker with more open connections.
function timeline(open) {
  const { start, seconds, words } = data.buckets;
  const most = Math.max(...open);
  const peak = open.indexOf(most);
  const idle = open.filter((n) => n === 0).length;
  const label = `Open connections for each ${words}: at most ${numbers.format(most)}, from ${time(start + peak * seconds)}; none in ${idle} of ${open.length}.`;
  const cells = open.map((n, index) => element("span", { class: `l${Math.ceil((4 * n) / most)}`, title: `${time(start + index * seconds)}: ${numbers.format(n)}` }));
  return [
    element("h4", {}, "When connected"),
    element("div", { class: "strip", role: "img", "aria-label": label }, ...cells),
    element("p", { class: "span", "aria-hidden": "true" }, element("span", {}, time(start)), element("span", {}, time(start + open.length * seconds))),
    element("p", { class: "cut" }, label),
  ];
}

const FACTS = { owners: "Owners", hosts: "Hosts", brokers: "Brokers", listeners: "Listeners", security_protocols: "Security", groups: "Groups", topics: "Topics", apis: "APIs" };

function fill(details, row) {
  const client = data.details[row.index];
  if (!client) {
    details.append(element("p", { class: "cut" }, "The details of this client are left out of this page; the warehouse has them."));
    return;
  }
  const facts = element("dl", { class: "facts" }, element("dt", {}, "Seen"), element("dd", {}, client.seen.map(time).join(" to ")));
  for (const [name, label] of Object.entries(FACTS)) {
    if (client.facts[name]) facts.append(element("dt", {}, label), element("dd", {}, client.facts[name].join(", ")));
  }
  details.append(facts);
  if (client.open) details.append(...timeline(client.open));
  if (client.uses) details.append(simpleTable(`Requests that are not fine with Kafka ${data.target}`, columns(["Verdict", "badge"], ["Request", "text"], ["Requests", "count"], ["Why", "text"]), client.uses));
  if (client.violations) details.append(simpleTable("Violations", columns(["Severity", "badge"], ["Blames", "text"], ["Rule", "text"], ["Connections", "count"], ["Requests", "count"], ["Example", "text"]), client.violations));
  if (client.connections) {
    const all = row.values[tables.clients.columns.findIndex((c) => c.label === "Connections")];
    const number = client.connections.length;
    const caption = all > number ? `The newest ${number} of ${numbers.format(all)} connections` : "Connections";
    details.append(simpleTable(caption, data.connectionColumns, client.connections));
  }
}

function showClients(slot, rows) {
  const title = element("h3", { class: "details-title" }, "Details of the clients above");
  const sections = rows.map((row) => {
    const [id, principal, software] = row.values;
    const summary = element("summary", {}, [id, principal, software].filter((value) => value).join(" · "));
    const details = element("details", { class: "client", id: `client-${row.index}` }, summary);
    details.addEventListener("toggle", () => { if (details.open && details.children.length === 1) fill(details, row); });
    return details;
  });
  slot.replaceChildren(title, ...sections);
}

// Follow a link #client-N: turn the inventory to that client and open its details.
function follow() {
  const link = /^#client-(\d+)$/.exec(location.hash);
  if (!link || Number(link[1]) >= tables.clients.rows.length) return;
  tables.clients.reveal(Number(link[1]));
  const details = document.getElementById(`client-${link[1]}`);
  details.open = true;
  details.scrollIntoView();
  details.firstChild.focus();
}

// Draw over which time each broker's log holds every request, one bar for each broker.
function drawLogs() {
  const svg = (name, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const logs = new Map();
  for (const [broker, began, ended, from, until, cluster] of data.logs) {
    const name = `${cluster}/${broker}`;
    if (!logs.has(name)) logs.set(name, { broker, span: [began, ended], whole: [] });
    if (from !== null) logs.get(name).whole.push([from, until]);
  }
  const drawable = [...logs.values()].slice(0, DRAWN_LOGS);
  const first = Math.min(...drawable.map((log) => log.span[0]));
  const last = Math.max(...drawable.map((log) => log.span[1]));
  const [left, width, step] = [220, 760, 22];
  const x = (seconds) => left + (width * (seconds - first)) / Math.max(last - first, 1);
  const bar = ([begin, end], y, height, name) => svg("rect", { x: x(begin), y, width: Math.max(x(end) - x(begin), 2), height, class: name });
  const bars = drawable.flatMap((log, index) => [
    svg("text", { x: left - 8, y: index * step + 15, "text-anchor": "end" }, log.broker.length > 30 ? `${log.broker.slice(0, 29)}…` : log.broker),
    svg("g", {}, svg("title", {}, `${log.broker}: ${log.span.map(time).join(" to ")}; every request: ${log.whole.map((one) => one.map(time).join(" to ")).join(", ") || "never"}`),
      bar(log.span, index * step + 4, 14, "part"), ...log.whole.map((one) => bar(one, index * step + 4, 14, "whole"))),
  ]);
  const bottom = drawable.length * step;
  const ends = [svg("text", { x: left, y: bottom + 14 }, time(first)), svg("text", { x: left + width, y: bottom + 14, "text-anchor": "end" }, time(last))];
  const caption = "Time of each log: dark where it holds every request, light where it may not";
  const drawn = svg("svg", { viewBox: `0 0 1000 ${bottom + 22}`, role: "img", "aria-label": caption, class: "logs" }, ...bars, ...ends);
  const box = element("div", { class: "plot", tabindex: "0", role: "group", "aria-label": caption }, drawn);
  document.querySelector("#what_the_log_shows .question").after(element("figure", {}, element("figcaption", {}, caption), box));
}

// Open a closed section that is linked to.
function openSection() {
  const section = /^#\w+$/.test(location.hash) && document.querySelector(`${location.hash} > details.closed`);
  if (section) section.open = true;
}

function prepareTheme() {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; show(); });
  prefersDark.addEventListener("change", show);
  button.hidden = false;
  show();
}

// Show more rows in print, where nobody can turn pages.
function preparePrint() {
  const resize = (size) => { for (const [name, table] of Object.entries(tables)) { table.size = size(name); table.first = 0; table.update(); } };
  addEventListener("beforeprint", () => { for (const section of document.querySelectorAll("details.closed")) section.open = true; });
  addEventListener("beforeprint", () => resize((name) => PRINTED_ROWS[name] || PRINTED_ROWS_ELSEWHERE));
  addEventListener("afterprint", () => resize((name) => ROWS[name] || ROWS_ELSEWHERE));
}

const details = element("div");
tables.clients = new DataTable("clients", data.tables.clients, document.querySelector('[data-table="clients"]'), (rows) => showClients(details, rows));
document.querySelector('[data-table="clients"]').append(details);
for (const slot of document.querySelectorAll('.slot:not([data-table="clients"])')) {
  tables[slot.dataset.table] = new DataTable(slot.dataset.table, data.tables[slot.dataset.table], slot);
}
if (data.logs.length) drawLogs();
prepareTheme();
preparePrint();
openSection();
addEventListener("hashchange", openSection);
addEventListener("hashchange", follow);
// A second click on the same link leaves the address as it is, so that hashchange does not fire: follow it here.
document.addEventListener("click", (event) => { if (event.target instanceof HTMLAnchorElement && event.target.hash === location.hash) follow(); });
follow();
