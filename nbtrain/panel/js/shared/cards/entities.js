// The names of characters in Markdown, such as &copy;, as the browser knows them. markdown-it takes them
// from the package `entities`, whose tables are a tenth of each bundle; the build puts this in its place.

// In a document of its own nothing is loaded, and the text of this element is never parsed as elements.
const area = document.implementation.createHTMLDocument("").createElement("textarea");

/** @param {string} text */
export function decodeHTMLStrict(text) {
  area.innerHTML = text;
  return area.value;
}
