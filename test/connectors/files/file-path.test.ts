import { describe, expect, test } from 'vitest';
import { canonicalPath, parsePath } from '../../../src/connectors/files/file-path.ts';
import { parsePermission } from '../../../src/core/auth/permission.ts';

const roots = { notes: { path: '/srv/notes', writable: true }, deep: { path: '/srv/notes/deep/', writable: false } };
const canonical = (path: string) => canonicalPath(path, roots);

describe('a path', () => {
  test.each([
    ['notes/shopping.txt', 'notes/shopping.txt'],
    ['./notes//a/./b/', 'notes/a/b'],
    ['notes/My list (ä).txt', 'notes/My+20list+20+28+C3+A4+29.txt'],
    ['notes/a+b', 'notes/a+2Bb'],
    ['notes/a:b*{c}', 'notes/a+3Ab+2A+7Bc+7D'],
    ['.', 'roots'],
    ['/srv/notes', 'notes'],
    ['/srv/notes/x y', 'notes/x+20y'],
    ['/srv/notes/deep/z', 'deep/z'],
  ])('%s is %s', (path, expected) => {
    expect(canonical(path)).toBe(expected);
    expect(canonical(expected)).toBe(expected);
    expect(parsePermission(`fs:read:${expected}`)).toMatchObject({ resource: expected });
  });

  test('has on the disk the name that it had', () => {
    for (const name of ['My list (ä).txt', 'a+b', '+41', 'x%20y', '日本', "it's"]) {
      expect(parsePath(`notes/${canonical(`notes/${name.replaceAll('+', '+2B')}`).split('/')[1]}`)).toEqual({
        root: 'notes',
        names: [name],
      });
    }
  });

  test.each([
    ['../etc/passwd', 'PERMISSION_DENIED'],
    ['notes/../../etc/passwd', 'PERMISSION_DENIED'],
    ['notes/+2E+2E/x', 'PERMISSION_DENIED'],
    ['/etc/passwd', 'PERMISSION_DENIED'],
    ['/srv/notes-of-others/x', 'PERMISSION_DENIED'],
    ['/srv/notes/../secret', 'PERMISSION_DENIED'],
    ['notes/.ssh/id_ed25519', 'PERMISSION_DENIED'],
    ['notes/+2Eenv', 'PERMISSION_DENIED'],
    ['notes/a+2Fb', 'VALIDATION_ERROR'],
    ['notes/a\0b', 'VALIDATION_ERROR'],
    ['notes/a+00b', 'VALIDATION_ERROR'],
    ['notes/+FF', 'VALIDATION_ERROR'],
    ['notes/\ud800', 'VALIDATION_ERROR'],
    [`notes/${'ä'.repeat(50)}`, 'VALIDATION_ERROR'],
  ])('%j is refused', (path, code) => {
    expect(() => canonical(path)).toThrow(expect.objectContaining({ code }));
  });
});
