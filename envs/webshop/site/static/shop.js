// The item page's options: the chosen ones are marked, the picture is theirs, a click chooses.
"use strict";
document.addEventListener("DOMContentLoaded", function () {
  const data = document.getElementById("shop-data");
  if (data === null) {
    return;
  }
  const { options, images } = JSON.parse(data.textContent);
  const values = Object.values(options);
  for (const radio of document.querySelectorAll("input[type=radio]")) {
    radio.addEventListener("click", function () {
      window.location.href = radio.dataset.url;
    });
    if (values.includes(radio.value)) {
      radio.checked = true;
      if (Object.hasOwn(images, radio.value) && images[radio.value]) {
        document.getElementById("product-image").setAttribute("src", images[radio.value]);
      }
    }
  }
});
