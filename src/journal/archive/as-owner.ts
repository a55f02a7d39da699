import { statSync } from 'node:fs';

/**
 * Runs work as the user to whom `path` belongs, where this process is root: what root wrote there
 * the hub could not read. As anybody else it just runs it.
 */
export async function asOwnerOf<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  const { geteuid, getegid, setegid, seteuid } = process;
  const owner = statSync(path, { throwIfNoEntry: false });
  if (!owner || !geteuid || !getegid || !setegid || !seteuid || geteuid() !== 0 || owner.uid === 0) return work();
  const before = { uid: geteuid(), gid: getegid() };
  setegid(owner.gid);
  seteuid(owner.uid);
  try {
    return await work();
  } finally {
    seteuid(before.uid);
    setegid(before.gid);
  }
}
