import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DeviceDescription } from '../src/core/device-model.ts';
import { loadProfiles } from '../src/profiles/load-profiles.ts';
import { draftProfile } from '../src/profiles/profile-draft.ts';

/** `profile-draft DESCRIPTION.json`: prints profile files for a device, ready to paste; the description is what `atmo devices ID --json` tells. */
const [path] = process.argv.slice(2);
if (path === undefined) {
  process.stderr.write('usage: profile-draft DESCRIPTION.json\n');
  process.exitCode = 2;
} else {
  const description = JSON.parse(readFileSync(path, 'utf8')) as DeviceDescription;
  const profiles = loadProfiles(join(import.meta.dirname, '../device-profiles'));
  for (const file of draftProfile(description, profiles)) {
    process.stdout.write(`// device-profiles/${file.path}\n${JSON.stringify(file.content, null, 2)}\n`);
  }
}
