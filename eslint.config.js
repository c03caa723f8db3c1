import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["nbtrain/panel/static/", "docs/", ".venv/"] },
  js.configs.recommended,
  {
    files: ["nbtrain/panel/js/**/*.js"],
    languageOptions: { globals: globals.browser },
  },
  {
    files: ["tests/js/**/*.js"],
    languageOptions: { globals: globals.node },
  },
  {
    rules: {
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
    },
  },
];
