/** The files of the Debian package, at their places below a folder. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ROOT } from '../bundle.ts';
import type { DebianArchitecture } from './debian-architecture.ts';
import { layOutProgram } from './program-tree.ts';
import { licenceTexts, softwareBill } from './software-bill.ts';

const PROGRAM = 'usr/lib/atmosphere-edge';
const DOCS = 'usr/share/doc/atmosphere-edge';

/** Where systemd, udev and dpkg look for what the checkout has. */
const SYSTEM_FILES: Readonly<Record<string, string>> = {
  'systemd/atmosphere-edge.service': 'usr/lib/systemd/system/atmosphere-edge.service',
  'systemd/atmosphere-edge-upgrade.service': 'usr/lib/systemd/system/atmosphere-edge-upgrade.service',
  'systemd/atmosphere-edge.sysusers.conf': 'usr/lib/sysusers.d/atmosphere-edge.conf',
  'systemd/atmosphere-edge.tmpfiles.conf': 'usr/lib/tmpfiles.d/atmosphere-edge.conf',
  'systemd/60-atmosphere-edge.rules': 'usr/lib/udev/rules.d/60-atmosphere-edge.rules',
  'systemd/sandbox.conf': `${PROGRAM}/systemd/sandbox.conf`,
  'systemd/small.conf': `${PROGRAM}/systemd/small.conf`,
  'scripts/package/debian/copyright': `${DOCS}/copyright`,
};

/** The service that watches upgrades starts with the machine, whether the hub does or not. */
const WANTS = 'usr/lib/systemd/system/multi-user.target.wants';

const COMPLETIONS = {
  bash: 'usr/share/bash-completion/completions/atmo',
  zsh: 'usr/share/zsh/vendor-completions/_atmo',
  fish: 'usr/share/fish/vendor_completions.d/atmo.fish',
} as const;

/** Lays out everything that the package installs below `root`; `time` is what its papers carry as their date. */
export async function layOutPackage(root: string, architecture: DebianArchitecture, time: Date): Promise<void> {
  rmSync(root, { recursive: true, force: true });
  await layOutProgram(join(root, PROGRAM), architecture);
  for (const [from, to] of Object.entries(SYSTEM_FILES)) cpSync(join(ROOT, from), join(root, to));
  mkdirSync(join(root, 'usr/bin'), { recursive: true });
  // As they were delivered, also where the owner has changed them: a version that is installed again has to bring these.
  for (const place of ['', `${PROGRAM}/conffiles`]) {
    cpSync(join(ROOT, 'scripts/package/debian/config.yaml'), join(root, place, 'etc/atmosphere-edge/config.yaml'));
  }
  mkdirSync(join(root, WANTS), { recursive: true });
  symlinkSync('../atmosphere-edge-upgrade.service', join(root, WANTS, 'atmosphere-edge-upgrade.service'));
  symlinkSync('../lib/atmosphere-edge/scripts/atmo', join(root, 'usr/bin/atmo'));
  writeCompletions(root);
  await writePapers(root, architecture, time);
}

function writeCompletions(root: string): void {
  for (const [shell, place] of Object.entries(COMPLETIONS)) {
    // With this machine's Node: that of the package may be another machine's.
    const script = execFileSync(process.execPath, [join(root, PROGRAM, 'dist/atmo.mjs'), 'completion', shell]);
    write(join(root, place), script);
  }
}

async function writePapers(root: string, architecture: DebianArchitecture, time: Date): Promise<void> {
  const bill = await softwareBill(architecture, time);
  write(join(root, DOCS, 'sbom.cdx.json'), `${JSON.stringify(bill, null, 1)}\n`);
  write(join(root, DOCS, 'third-party-licenses.txt.gz'), gzipSync(await licenceTexts(bill), { level: 9 }));
}

function write(path: string, content: string | Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}
