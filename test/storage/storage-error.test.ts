import { describe, expect, test } from 'vitest';
import { AtmoError } from '../../src/core/errors.ts';
import { causeOf, guardStorage, toStorageError } from '../../src/storage/storage-error.ts';

const sqlite = (errcode: number) => Object.assign(new TypeError('sqlite says so'), { code: 'ERR_SQLITE_ERROR', errcode });
const errno = (code: string) => Object.assign(new TypeError('the kernel says so'), { code });

describe('what storage throws', () => {
  test.each([
    ['SQLITE_FULL', sqlite(13), 'full'],
    ['SQLITE_IOERR_SHMSIZE', sqlite(4874), 'full'],
    ['ENOSPC', errno('ENOSPC'), 'full'],
    ['EDQUOT', errno('EDQUOT'), 'full'],
    ['SQLITE_READONLY_DIRECTORY', sqlite(1544), 'not-writable'],
    ['EACCES', errno('EACCES'), 'not-writable'],
    ['EROFS', errno('EROFS'), 'not-writable'],
    ['SQLITE_CANTOPEN', sqlite(14), 'not-writable'],
    ['SQLITE_CORRUPT_INDEX', sqlite(779), 'damaged'],
    ['SQLITE_NOTADB', sqlite(26), 'damaged'],
    ['SQLITE_BUSY', sqlite(5), 'in-use'],
    ['SQLITE_IOERR_WRITE', sqlite(778), 'disk-fault'],
    ['EIO', errno('EIO'), 'disk-fault'],
  ])('%s becomes STORAGE_FAILED with the file, its cause and its reason', (_name, thrown, cause) => {
    const error = toStorageError(thrown, '/state/state.db');
    expect(error).toBeInstanceOf(AtmoError);
    expect(error).toMatchObject({ code: 'STORAGE_FAILED', details: { path: '/state/state.db', cause }, cause: thrown });
    expect(String(error)).toContain('/state/state.db');
    expect(String(error)).toContain(thrown.message);
  });

  test('a bug in our SQL or in our code is no storage error', () => {
    const bugs = [sqlite(1), sqlite(19), new TypeError('x is not a function')];
    expect(bugs.map((bug) => toStorageError(bug, '/p'))).toEqual(bugs);
    expect(() =>
      guardStorage('/p', () => {
        throw bugs[2];
      }),
    ).toThrow(bugs[2]);
  });

  test('an AtmoError is not wrapped again', () => {
    const told = toStorageError(sqlite(13), '/inner');
    expect(toStorageError(told, '/outer')).toBe(told);
  });

  test('damage and use by others are distinguished from other causes', () => {
    expect([11, 26, 5, 13].map((code) => causeOf(sqlite(code)))).toEqual(['damaged', 'damaged', 'in-use', 'full']);
  });
});
