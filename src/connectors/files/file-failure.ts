import { AtmoError, type ErrorCode } from '../../core/errors.ts';

const FAILURES: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOENT: ['NOT_FOUND', 'does not exist'],
  ENOTDIR: ['NOT_FOUND', 'leads through something that is no folder, or through a link, which is not followed'],
  ELOOP: ['NOT_FOUND', 'is a link, which is not followed'],
  EISDIR: ['CONFLICT', 'is a folder'],
  EACCES: ['PERMISSION_DENIED', 'is closed to the user that the hub runs as'],
  EPERM: ['PERMISSION_DENIED', 'is closed to the user that the hub runs as'],
  ENAMETOOLONG: ['VALIDATION_ERROR', 'has a name that is too long'],
  ENXIO: ['NOT_SUPPORTED', 'is no ordinary file'],
  ENOSPC: ['STORAGE_FAILED', 'does not fit: the disk is full'],
  EDQUOT: ['STORAGE_FAILED', 'does not fit: the quota of the user is used up'],
  EROFS: ['STORAGE_FAILED', 'is read-only to the hub: its disk is, or its service lacks ReadWritePaths= for the folder (docs/install.md)'],
};

/** A failure of the file system in the words of a caller, who knows the path; the path of the machine is not told. */
export function fileFailure(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || error instanceof AtmoError || !('code' in error)) return error;
  const [code, what] = FAILURES[String(error.code)] ?? ['STORAGE_FAILED', `cannot be used (${error.code})`];
  return new AtmoError(code, `${path} ${what}`, { path }, { cause: error });
}
