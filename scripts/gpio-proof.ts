/**
 * Proves the hub's GPIO code on a kernel of 64-bit ARM: a board of QEMU with a PL061 chip runs it, and what it found is checked here.
 * `--fetch` downloads QEMU, the kernel, Node and koffi first (250 MB, Debian and npm); without them the proof is skipped with exit 77.
 * `--json` prints the findings instead of the list. Exit 0 when all holds, 1 when not.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT } from './bundle.ts';
import { NOT_POSSIBLE } from './check/tally.ts';
import { fetchArm64Parts, findArm64Parts } from './gpio-proof/arm64-parts.ts';
import { checksOf, type Findings, findingsIn } from './gpio-proof/findings.ts';
import { guestImage } from './gpio-proof/guest-image.ts';
import { VirtualBoard } from './gpio-proof/virtual-board.ts';

/** Emulated, and perhaps beside other work: the proof takes half a minute on two idle cores. */
const LIMIT_MS = 300_000;
const PRESS = 'PRESS ';

async function prove(): Promise<Findings> {
  const parts = findArm64Parts();
  if (!parts) throw new Error('the parts vanished');
  mkdirSync(join(ROOT, '.run'), { recursive: true });
  const workDir = mkdtempSync(join(ROOT, '.run/gpio-proof-'));
  try {
    const image = join(workDir, 'image');
    writeFileSync(image, await guestImage(parts.root, workDir));
    await using board = new VirtualBoard(parts, workDir);
    const console: string[] = [];
    await board.run(image, LIMIT_MS, (line) => {
      console.push(line);
      if (line.startsWith(PRESS)) void board.press(Number(line.slice(PRESS.length)));
    });
    const findings = findingsIn(console);
    if (!findings) throw new Error(`the guest did not come to its end; its console ends with\n${console.slice(-30).join('\n')}`);
    return findings;
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
}

function report(findings: Findings): void {
  const checks = checksOf(findings);
  for (const { title, holds, found } of checks) console.log(`${holds ? '✓' : '✗'} ${title}${holds ? '' : `: ${JSON.stringify(found)}`}`);
  const failed = checks.filter(({ holds }) => !holds).length;
  console.log(
    `gpio-proof on Linux ${findings.system.release}, Node ${findings.system.node}: ${checks.length - failed} hold, ${failed} do not`,
  );
  process.exitCode = failed === 0 ? 0 : 1;
}

const { values } = parseArgs({ options: { fetch: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } } });
if (values.fetch) await fetchArm64Parts();
if (!findArm64Parts()) {
  console.log('gpio-proof: skipped, its virtual board is not there: node scripts/gpio-proof.ts --fetch');
  process.exitCode = NOT_POSSIBLE;
} else {
  const findings = await prove();
  if (values.json) console.log(JSON.stringify(findings));
  else report(findings);
}
