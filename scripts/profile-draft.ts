import { readFileSync } from 'node:fs';
import type { DeviceDescription } from '../src/core/devices/device-model.ts';
import { draftProfileFor } from '../src/hub/offline/profile-files.ts';

/** `profile-draft DESCRIPTION.json`: prints profile files for a device, ready to paste; the description is what `atmo devices ID --json` tells. */
const [path] = process.argv.slice(2);
if (path === undefined) {
  process.stderr.write('usage: profile-draft DESCRIPTION.json\n');
  process.exitCode = 2;
} else {
  for (const file of await draftProfileFor(JSON.parse(readFileSync(path, 'utf8')) as DeviceDescription)) {
    process.stdout.write(`// device-profiles/${file.path}\n${JSON.stringify(file.content, null, 2)}\n`);
  }
}
