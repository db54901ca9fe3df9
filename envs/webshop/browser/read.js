// What the driver reads from a page. It leaves the page as it is, but for joining texts that the
// parser had to split.
"use strict";
(function (what, index, name) {
  // Clickables in the order of the original's environment: buttons, links to products, options.
  function clickables() {
    const out = [];
    for (const e of document.querySelectorAll(".btn")) out.push({ kind: "button", name: e.textContent.trim(), element: e });
    for (const e of document.querySelectorAll(".product-link")) out.push({ kind: "link", name: e.textContent.trim(), element: e });
    for (const e of document.querySelectorAll("input[type=radio]")) out.push({ kind: "radio", name: e.value, element: e });
    return out;
  }
  if (what === "click") {
    const c = clickables()[index];
    if (!c || c.name !== name) return false;
    c.element.click();
    return true;
  }
  if (what === "search") {
    const bar = document.getElementById("search_input");
    if (bar) {
      bar.value = name;
      bar.form.submit();
      return true;
    }
    // The text environment takes a search on any page: the search page's form, sent from here.
    const form = document.createElement("form");
    form.method = "post";
    form.action = document.querySelector("form").action;
    const field = document.createElement("input");
    field.type = "hidden";
    field.name = "search_query";
    field.value = name;
    form.append(field);
    document.body.append(form);
    form.submit();
    return true;
  }
  document.normalize();
  const skip = new Set(["style", "script", "head", "title", "meta", "html"]);
  const nodes = [];
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!parent || skip.has(parent.localName)) continue;
    nodes.push({
      text: walker.currentNode.data,
      parent: parent.localName,
      link: parent.className === "product-link",
      pre: parent.closest("pre, textarea") !== null,
    });
  }
  const reward = document.querySelector("#reward pre");
  const entry = performance.getEntriesByType("navigation")[0];
  return {
    url: location.href,
    status: entry ? entry.responseStatus : 0,
    search: document.getElementById("search_input") !== null,
    clickables: clickables().map((c) => ({ kind: c.kind, name: c.name })),
    nodes: nodes,
    reward: reward ? reward.textContent : null,
    source: what === "source" ? "<!DOCTYPE html>" + document.documentElement.outerHTML : "",
  };
})
