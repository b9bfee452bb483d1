// --- the page: one cluster at a time; the address says which, and what is chosen in its list
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const articles = [...document.querySelectorAll("article.cluster")];
  const selector = document.getElementById("cluster");
  const lists = new Map();

  function copyable(command) {
    const block = element("div", undefined, { class: "copyable" });
    const button = element("button", "copy", { type: "button" });
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(command.textContent);
      } catch {
        // A browser may have no clipboard for the script of a file.
        getSelection().selectAllChildren(command);
        document.execCommand("copy");
      }
      button.textContent = "copied";
    });
    command.replaceWith(block);
    block.append(command, button);
    return block;
  }

  function detailsOf({ rows, steps, timelines }) {
    return (number) => {
      const row = rows[number];
      const evidence = element("ul", undefined, { class: "evidence" });
      for (const line of row.evidence) evidence.append(element("li", line));
      const drawn = element("div", undefined, { class: "pair" });
      drawn.append(...timelines[row.timeline].map(timelineOf));
      const found = [element("p", row.meaning), element("h3", "Evidence"), evidence, drawn, element("h3", "What to do"), element("p", row.remedy)];
      for (const { says, commands } of row.steps.map((step) => steps[step])) {
        found.push(element("p", says, { class: "muted" }));
        for (const line of commands) {
          found.push(copyable(element("pre", line, { class: "command" })));
        }
      }
      return found;
    };
  }

  function listOf(article) {
    if (!lists.has(article.id)) {
      const { details, ...tables } = data[article.id];
      const made = [...article.querySelectorAll(".paged")].map((place) => {
        const isMain = place.dataset.table === "transactions";
        const changed = (chosen) => history.replaceState(null, "", `#${article.id}/${new URLSearchParams(chosen)}`);
        const told = (chosen) => { changed(chosen); mark(article, chosen); };
        return new List(place, tables[place.dataset.table], isMain ? detailsOf(details) : undefined, isMain ? told : undefined);
      });
      lists.set(article.id, made);
    }
    return lists.get(article.id).find((list) => list.details);
  }

  function mark(article, chosen) {
    for (const card of article.querySelectorAll(".pick")) {
      card.setAttribute("aria-current", String(card.dataset.action === chosen.action));
    }
  }

  function follow() {
    const [id, query] = location.hash.slice(1).split("/");
    const article = articles.find((each) => each.id === id) ?? articles[0];
    if (!article) return;
    for (const each of articles) each.hidden = each !== article;
    if (selector) selector.value = article.id;
    const list = listOf(article);
    const { row, ...chosen } = Object.fromEntries(new URLSearchParams(query));
    if (!list) return;
    if (row === undefined) {
      list.pick(chosen);
      if (query) article.querySelector(".list").scrollIntoView();
    } else if (list.all.includes(Number(row))) {
      list.open(Number(row));
    }
    mark(article, list.chosen());
  }

  for (const command of document.querySelectorAll("pre.command")) copyable(command);
  selector?.addEventListener("change", () => { location.hash = selector.value; });
  for (const link of document.querySelectorAll('a[href^="#c"]')) {
    // A link leads there again after another choice.
    link.addEventListener("click", () => { if (link.hash === location.hash) follow(); });
  }
  window.addEventListener("hashchange", follow);
  for (const choice of document.getElementsByName("theme")) {
    choice.addEventListener("change", () => { root.dataset.theme = choice.value; });
  }
  const show = (isPrinted) => {
    for (const article of articles) if (!article.hidden) lists.get(article.id).forEach((list) => list.show(isPrinted));
  };
  window.addEventListener("beforeprint", () => show(true));
  window.addEventListener("afterprint", () => show(false));
  follow();
  root.dataset.ready = "yes";
})();
