// Makes the page alive: without it, everything is on the page as well.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Tables sort by a click on a heading; a cell may carry the value that it stands for.
  const value = (row, at) => {
    const cell = row.cells[at];
    const text = cell.dataset.value ?? cell.textContent.trim();
    return text !== "" && !isNaN(text) ? Number(text) : text.toLowerCase();
  };
  const order = (a, b) =>
    typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? 1 : -1;
  for (const table of all("table")) {
    const body = table.tBodies[0];
    if (!table.tHead || body.rows.length < 2) continue;
    for (const [at, heading] of [...table.tHead.rows[0].cells].entries()) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const up = heading.getAttribute("aria-sort") === "descending";
        for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...body.rows].sort((a, b) => order(value(a, at), value(b, at)));
        body.append(...(up ? rows : rows.reverse()));
      });
    }
  }

  // What is folded would be missing on paper.
  addEventListener("beforeprint", () => all("details").forEach((each) => (each.open = true)));

  const graph = document.querySelector(".graph");
  if (!graph) return;
  const picture = graph.querySelector(".picture");
  const svg = picture.querySelector("svg");
  const controls = graph.querySelector(".controls");
  const told = graph.querySelector(".told");
  const nodes = all(".node", svg);
  const edges = all(".edge", svg);
  const rows = new Map(all("tr[data-edge]").map((row) => [Number(row.dataset.edge), row]));
  const names = JSON.parse(graph.dataset.columns);
  const ends = JSON.parse(graph.dataset.edges); // [source, target, confidence or null, of its arrow]
  const labels = new Map(all(".label", svg).map((label) => [Number(label.dataset.at), label]));
  controls.hidden = false;

  // Zoom and drag by the view box.
  const whole = svg.viewBox.baseVal;
  const [width, height] = [whole.width, whole.height];
  let view = { x: 0, y: 0, w: width };
  const tall = () => view.w * (picture.clientHeight / picture.clientWidth || height / width);
  const show = () => svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${tall()}`);
  const fit = () => {
    const room = picture.clientWidth;
    const natural = Math.min(height * Math.min(1, room / width), innerHeight * 0.8);
    picture.style.height = `${Math.max(natural, Math.min(height, 200))}px`;
    svg.style.height = "100%";
    const w = Math.max(width, height * (room / picture.clientHeight), room);
    view = { x: (width - w) / 2, y: 0, w };
    view.y = (height - tall()) / 2;
    show();
  };
  const zoom = (factor, x = view.x + view.w / 2, y = view.y + tall() / 2) => {
    const w = Math.min(Math.max(view.w * factor, 150), 3 * Math.max(width, picture.clientWidth));
    const scale = w / view.w;
    view = { x: x - (x - view.x) * scale, y: y - (y - view.y) * scale, w };
    show();
  };
  const move = (x, y) => {
    view.x += x;
    view.y += y;
    show();
  };
  const where = (event) => {
    const box = picture.getBoundingClientRect();
    const scale = view.w / box.width;
    return [view.x + (event.clientX - box.left) * scale, view.y + (event.clientY - box.top) * scale];
  };
  picture.classList.add("alive");
  picture.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
      event.preventDefault();
      zoom(Math.exp(event.deltaY / 300), ...where(event));
    },
    { passive: false },
  );
  let held = null;
  picture.addEventListener("pointerdown", (event) => {
    if (event.button === 0) held = { x: event.clientX, y: event.clientY, far: false };
  });
  addEventListener("pointermove", (event) => {
    if (!held) return;
    const [x, y] = [held.x - event.clientX, held.y - event.clientY];
    if (!held.far && Math.hypot(x, y) < 4) return; // a click that trembles
    const scale = view.w / picture.clientWidth;
    move(x * scale, y * scale);
    held = { x: event.clientX, y: event.clientY, far: true };
  });
  let dragged = false;
  addEventListener("pointerup", () => {
    dragged = Boolean(held && held.far);
    held = null;
  });
  const keys = {
    "+": () => zoom(0.8), "=": () => zoom(0.8), "-": () => zoom(1.25), 0: fit,
    ArrowLeft: () => move(-view.w / 12, 0), ArrowRight: () => move(view.w / 12, 0),
    ArrowUp: () => move(0, -view.w / 12), ArrowDown: () => move(0, view.w / 12),
  };
  picture.tabIndex = 0;
  picture.setAttribute("role", "group");
  picture.setAttribute("aria-label", "Picture of the graph. Plus, minus and arrows move it; tab goes from edge to edge.");
  svg.setAttribute("role", "group");
  picture.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  for (const button of all("[data-zoom]", controls)) {
    button.addEventListener("click", () => ({ in: keys["+"], out: keys["-"], fit })[button.dataset.zoom]());
  }
  addEventListener("resize", fit);
  fit();

  // An edge is chosen by click, Enter or its row; what is known of it stands below the picture.
  const choose = (at) => {
    edges.forEach((edge, i) => edge.classList.toggle("chosen", i === at));
    const row = rows.get(at);
    const heading = document.createElement("strong");
    heading.textContent = row.querySelector("summary").textContent;
    told.replaceChildren(heading, ...all("details > :not(summary)", row).map((p) => p.cloneNode(true)));
    told.hidden = false;
  };
  edges.forEach((edge, at) => {
    const line = edge.querySelector("path");
    const reach = line.cloneNode();
    reach.setAttribute("class", "reach");
    reach.removeAttribute("stroke-width");
    edge.append(reach);
    edge.tabIndex = 0;
    edge.setAttribute("role", "button");
    edge.setAttribute("aria-label", edge.querySelector("title").textContent);
    edge.addEventListener("click", () => dragged || choose(at));
    edge.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose(at);
    });
    rows.get(at)?.querySelector("summary").addEventListener("click", () => choose(at));
  });

  // One slider hides edges that are less sure, the other the heads of arrows that are.
  const [slider, heads] = ["edge", "arrow"].map((name) => controls.querySelector(`[name=${name}]`));
  const less = (value, range) => range && value !== null && value < Number(range.value);
  const unknown = ends.filter((end) => end[2] === null).length;
  const filter = () => {
    let [left, pointed] = [0, 0];
    ends.forEach(([, , confidence, arrow], at) => {
      const hidden = less(confidence, slider);
      const blunt = less(arrow, heads);
      left += hidden || confidence === null ? 0 : 1;
      pointed += hidden || blunt || arrow === null ? 0 : 1;
      for (const part of [edges[at], labels.get(at)]) {
        if (part) part.style.display = hidden ? "none" : "";
      }
      edges[at].classList.toggle("blunt", Boolean(blunt));
      if (rows.has(at)) rows.get(at).hidden = Boolean(hidden);
    });
    const said = (range, text) => {
      if (range) range.parentNode.querySelector("output").value = `${Number(range.value).toFixed(2)} or more: ${text}`;
    };
    said(slider, `${left} of ${ends.length - unknown}`);
    said(heads, `${pointed} of ${ends.filter((end) => end[3] !== null).length}`);
  };
  for (const range of [slider, heads]) range?.addEventListener("input", filter);

  // Undecided pairs.
  const doubts = svg.querySelector(".doubts");
  const box = controls.querySelector("[type=checkbox]");
  if (box && doubts) {
    box.checked = doubts.getAttribute("display") !== "none";
    box.addEventListener("change", () => doubts.setAttribute("display", box.checked ? "inline" : "none"));
  }

  // A column that is looked for: it and its neighbours stay bright.
  const search = controls.querySelector("[type=search]");
  const look = () => {
    const asked = search.value.trim().toLowerCase();
    const hits = names.map((name) => asked !== "" && name.toLowerCase().includes(asked));
    const any = hits.some(Boolean);
    const near = hits.slice();
    ends.forEach(([a, b], at) => {
      const touches = hits[a] || hits[b];
      if (touches) near[a] = near[b] = true;
      for (const part of [edges[at], labels.get(at)]) part?.classList.toggle("faded", any && !touches);
    });
    nodes.forEach((node, i) => {
      node.classList.toggle("found", hits[i]);
      node.classList.toggle("faded", any && !near[i]);
    });
    return hits.indexOf(true);
  };
  search.addEventListener("input", look);
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const at = look();
    if (at < 0) return;
    const box = nodes[at].querySelector("rect");
    const centre = (axis, size) => Number(box.getAttribute(axis)) + Number(box.getAttribute(size)) / 2;
    const shift = svg.querySelector("g[transform]").transform.baseVal.consolidate().matrix;
    view.w = Math.min(view.w, Math.max(700, width / 4));
    view.x = centre("x", "width") + shift.e - view.w / 2;
    view.y = centre("y", "height") + shift.f - tall() / 2;
    show();
  });
})();
