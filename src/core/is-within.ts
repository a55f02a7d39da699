/** True for the folder itself and for what lies below it, by their names alone: both from / on, without `..`. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}
