// The part of jQuery that the shop's item page uses: waiting for the page, walking over the radio
// buttons, reading and setting values.
"use strict";
(function () {
  function wrap(nodes) {
    return {
      ready: function (f) {
        if (document.readyState === "loading") {
          document.addEventListener("DOMContentLoaded", f);
        } else {
          f();
        }
        return this;
      },
      each: function (f) {
        nodes.forEach(function (node, i) { f.call(node, i, node); });
        return this;
      },
      val: function () { return nodes.length ? nodes[0].value : undefined; },
      prop: function (name, value) {
        nodes.forEach(function (node) { node[name] = value; });
        return this;
      },
      attr: function (name, value) {
        nodes.forEach(function (node) { node.setAttribute(name, value); });
        return this;
      },
    };
  }
  function shop(what) {
    if (typeof what !== "string") {
      return wrap([what]);
    }
    return wrap(Array.from(document.querySelectorAll(what.replace(/:radio\b/, "[type=radio]"))));
  }
  shop.map = function (object, f) {
    return Object.keys(object).map(function (key) { return f(object[key], key); });
  };
  window.$ = shop;
})();
