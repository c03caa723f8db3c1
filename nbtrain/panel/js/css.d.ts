// esbuild gives a style sheet as a text.
declare module "*.css" {
  const text: string;
  export default text;
}
