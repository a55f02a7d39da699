/** The code of an error of the system as errno(3) and Node name it (`ENOENT`, `ERR_…`); where it has none, its text. */
export function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
