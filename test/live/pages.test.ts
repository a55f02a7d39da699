import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { LabHost } from '../../scripts/network-lab/lab-host.ts';
import type { JsonObject } from '../../src/core/json.ts';
import { type DeviceSpec, homeOf, standardHome, together } from '../home/home-spec.ts';
import { VirtualHome } from '../home/virtual-home.ts';
import { blocksOf, shellCommandsOf, transcriptOf } from '../scripts/page-commands.ts';
import { MAIN } from './main-program.ts';
import { RunningHub } from './running-hub.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const HTTP_PORT = '8081';
const STILL_IN_ITS_BOX = 'Thermostat';
/** A page has dozens of commands, each of which starts a program. */
const PAGE_LIMIT_MS = 600_000;
const PASSPHRASE = 'correct horse battery staple';

/** Why a command of a page is not run here; its form is still checked by bash and by the table of commands. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  './scripts/demo': 'continuous integration runs it by itself',
  './scripts/test': 'this test is a part of it',
  'sudo apt install': 'test/live/package installs the package',
  'echo ATMO_HTTP_HOST=0.0.0.0 |': 'it changes the machine; docs/http.md has the same setting, which is run',
  'sudo systemctl': 'there is no systemd here; test/live/package starts the service',
  'npx openapi-typescript': 'npx fetches it; test/openapi-client holds a generated client against the document',
  'sudo atmo read board/cpu-thermal': 'the sensor is that of a board',
};

/**
 * What a page leaves to its reader: a code, an id, another machine. A command that begins with the key is run as the value says;
 * `COMMAND` stands for what the page prints.
 */
const FILLED_IN: Readonly<Record<string, string>> = {
  'sudo atmo commission CODE': 'sudo atmo commission "$OTHER_CODE"',
  "sudo atmo credentials wifi home 'Our net'": "echo 'long enough' >wifi.txt && COMMAND",
  'sudo atmo commission 34970112332': 'COMMAND && lamp_is_there',
  "sudo atmo commission 34970112332 --name 'Ceiling lamp'": 'once_it_pairs COMMAND',
  'sudo atmo device recognised': 'COMMAND | grep living-room-lamp',
  'sudo atmo device restore ceiling-lamp': 'COMMAND && lamp_is_there && sudo atmo call ceiling_lamp_turn_on',
  'sudo atmo restore home.atmo': 'ATMO_STATE_DIR=$PWD/restored COMMAND',
  'sudo atmo login': 'atmo login',
  'sudo atmo people invite owner --qr': '(start_lan_hub && COMMAND)',
  'sudo atmo people invite ann --qr': '(start_lan_hub && sudo atmo people add ann --role adult && COMMAND)',
  'sudo atmo people invite ben --qr': '(start_lan_hub && sudo atmo people add ben --role adult && COMMAND)',
  'sudo atmo mesh invite': 'LINE=$(sudo atmo mesh invite) && [ "$(wc -l <<<"$LINE")" = 1 ]',
  'sudo atmo mesh join LINE': 'on_second_hub atmo mesh join "$LINE"',
  'sudo atmo approvals': 'agent_wants_the_door_open && COMMAND | grep "$ID"',
  'sudo atmo approve ID': 'sudo atmo approve "$ID"',
  'sudo atmo backup /media/usb/home.atmo': 'sudo atmo backup home.atmo',
  './scripts/atmo profile draft DEVICE': 'sudo atmo profile draft living-room-lamp',
  'npm run profile:check -- [FILE …]': 'sudo atmo profile check "$ROOT"/device-profiles/capabilities/on-off.json',
  'ATMO_HTTP_HOST=0.0.0.0 atmo serve': 'start_lan_hub',
  'curl -H "Authorization: Bearer $ATMO_TOKEN" http://127.0.0.1:8081/openapi.json':
    'ATMO_TOKEN=$(ATMO_STATE_DIR=$MAIN_STATE ATMO_HTTP_PORT=8081 atmo token mint --agent generator --allow "device:read:*") && COMMAND',
  'claude mcp add --transport http': 'ATMO_TOKEN=$(sudo atmo token mint --agent claude --allow "device:read:*") && COMMAND',
  'atmo mcp --agent NAME': 'first_answer atmo mcp --agent desk',
  "atmo mcp --agent NAME --allow 'sensor:read:*'": "first_answer atmo mcp --agent shelf --allow 'sensor:read:*'",
  'atmo mcp --view devices | --view areas/kitchen':
    'first_answer atmo mcp --agent desk --view devices && first_answer atmo mcp --agent desk --view areas/kitchen',
  'ATMO_TOKEN=at1.… atmo mcp': 'ATMO_TOKEN=$(sudo atmo token mint --agent mcp --allow "device:read:*") first_answer atmo mcp',
};

/** `sudo` and `claude` are not on every machine: the one becomes nobody else here, the other asks what it was given for its first answer. */
const PRELUDE = `
set -o pipefail
curl() { command curl -sS --fail-with-body "$@"; }
sudo() { HOME=$ROOT_HOME "$@"; }
initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"page","version":"1"}}}'
first_answer() { echo "$initialize" | "$@" | grep -q '"serverInfo"'; }
# A client without a token finds where it can sign in (RFC 9728, RFC 8414).
finds_the_sign_in() {
  local metadata server
  metadata=$(command curl -sS -D - -o /dev/null -H 'content-type: application/json' -d "$initialize" "$1" | grep -io 'resource_metadata="[^"]*' | cut -d'"' -f2)
  server=$(curl "$metadata" | grep -o '"authorization_servers": *\\["[^"]*' | cut -d'"' -f4)
  curl "$server/.well-known/oauth-authorization-server" | grep -q '"authorization_endpoint"'
}
claude() {
  local arguments="$*" settings=() header= url=
  while [ $# -gt 0 ]; do
    case $1 in
    --header) header=$2; shift ;;
    -e) settings+=("$2"); shift ;;
    http://*) url=$1 ;;
    --) shift; first_answer env "\${settings[@]}" "$@"; return ;;
    esac
    shift
  done
  if [ -z "$header" ]; then finds_the_sign_in "$url"; return; fi
  curl -H "$header" -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' -d "$initialize" "$url" | grep -q '"serverInfo"'
}
on_second_hub() { ATMO_STATE_DIR="$SECOND_STATE" "\${SECOND_HOST[@]}" "$@"; }
# A device that was removed takes a moment until it can be commissioned again.
once_it_pairs() { for _ in $(seq 60); do "$@" && return; sleep 0.5; done; return 1; }
lamp_is_there() { sudo atmo devices --json | grep -q '"living-room-lamp"'; }
agent_wants_the_door_open() {
  local agent
  agent=$(atmo token mint --agent visitor --allow 'device:control:*') || return
  ID=$(ATMO_TOKEN=$agent atmo call front_door_unlock pin=1234 --json | grep -o '"approval_id": *"[^"]*"' | cut -d'"' -f4)
  [ -n "$ID" ]
}
start_lan_hub() {
  export ATMO_STATE_DIR=$PWD/lan ATMO_HTTP_PORT=8443
  mkdir -p -m 700 "$ATMO_STATE_DIR" && echo '{"matter":{"enabled":false}}' >"$ATMO_STATE_DIR/config.yaml"
  rm -f serve.out
  ATMO_HTTP_HOST=0.0.0.0 atmo serve >serve.out 2>serve.err &
  trap "kill $!; wait $!" EXIT
  for _ in $(seq 600); do grep -q READY serve.out && return; sleep 0.1; done
  cat serve.err >&2; return 1
}
`;

/** A hub at the address that the pages print, with the devices that they name, and a folder in which a reader sits. */
class PageReader implements AsyncDisposable {
  readonly home: VirtualHome;
  readonly hub: RunningHub;
  readonly second: RunningHub | undefined;
  readonly #dir: string;
  readonly #secondHost: LabHost;

  private constructor(parts: { home: VirtualHome; hub: RunningHub; second: RunningHub | undefined; dir: string; secondHost: LabHost }) {
    this.home = parts.home;
    this.hub = parts.hub;
    this.second = parts.second;
    this.#dir = parts.dir;
    this.#secondHost = parts.secondHost;
  }

  static async start({ devices, withSecond = false }: { devices: readonly DeviceSpec[]; withSecond?: boolean }): Promise<PageReader> {
    const dir = mkdtempSync(join(tmpdir(), 'page-reader-'));
    const secondHost = new LabHost('annex', 2);
    const home = await VirtualHome.start({ spec: together({ devices }), dir: join(dir, 'home') });
    const env = { ATMO_HTTP_PORT: HTTP_PORT };
    const hub = await RunningHub.start({
      stateDir: join(dir, 'state'),
      config: { matter: { interface: 'eth0' }, mesh: { name: 'house' } },
      env,
    });
    if (withSecond) await secondHost.start();
    const second = withSecond
      ? await RunningHub.start({
          stateDir: join(dir, 'second'),
          config: { matter: { enabled: false }, mesh: { name: 'annex' } },
          host: secondHost,
          env,
        })
      : undefined;
    for (const folder of ['bin', 'desk', 'root']) mkdirSync(join(dir, folder));
    const atmo = join(dir, 'bin/atmo');
    writeFileSync(atmo, `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n`);
    chmodSync(atmo, 0o755);
    symlinkSync(join(ROOT, 'scripts'), join(dir, 'desk/scripts'));
    return new PageReader({ home, hub, second, dir, secondHost });
  }

  /** Commissions a device without a page, by its name and area in the home. */
  async commission(name: string): Promise<void> {
    const { spec, pairing } = this.home.device(name);
    const { area } = spec;
    const { qrCode: code } = pairing;
    await this.hub.result('hub:commission_device', { code, name, area, accept_attestation: true });
  }

  /** Puts a file on the reader's desk. */
  write(file: string, text: string): void {
    writeFileSync(join(this.#dir, 'desk', file), text);
  }

  /** Runs commands one after the other in one shell; what went wrong, by command. */
  async follow(commands: readonly string[]): Promise<readonly string[]> {
    const script = commands.map((command, index) => `{ ${command}\n} >out.${index} 2>&1 || { echo "${index}"; }`).join('\n');
    const { stdout } = await this.#bash(`${PRELUDE}\n${script}\n`);
    const failed = stdout.split('\n').filter((line) => line !== '');
    return Promise.all(failed.map(async (index) => `${commands[Number(index)]}: ${(await this.#bash(`tail -c 600 out.${index}`)).stdout}`));
  }

  /** What a command prints, on both streams. */
  async printed(command: string): Promise<string> {
    const { stdout } = await this.#bash(`${PRELUDE}\n{ ${command}\n} 2>&1 || true`);
    return stdout;
  }

  async #bash(script: string): Promise<{ stdout: string }> {
    const env = {
      ...process.env,
      PATH: `${join(this.#dir, 'bin')}:${process.env.PATH}`,
      HOME: join(this.#dir, 'desk'),
      ROOT,
      ROOT_HOME: join(this.#dir, 'root'),
      USER: 'ann',
      ATMO_STATE_DIR: join(this.#dir, 'state'),
      MAIN_STATE: join(this.#dir, 'state'),
      SECOND_STATE: join(this.#dir, 'second'),
      ATMO_PASSPHRASE: PASSPHRASE,
      OTHER_CODE: this.home.devices.find(({ name }) => name === STILL_IN_ITS_BOX)?.pairing.qrCode ?? '',
    };
    const host = `SECOND_HOST=(${this.#secondHost.command([]).join(' ')})`;
    return run('bash', ['-c', `${host}\n${script}`], { cwd: join(this.#dir, 'desk'), env, maxBuffer: 1 << 24 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.second?.[Symbol.asyncDispose]();
    await this.hub[Symbol.asyncDispose]();
    await this.home[Symbol.asyncDispose]();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

const keyOf = (table: Readonly<Record<string, string>>, command: string): string | undefined =>
  Object.keys(table)
    .filter((key) => command.startsWith(key))
    .sort((a, b) => b.length - a.length)[0];

/** The commands of a page that this machine can run, each as a reader would type it. */
function typed(page: string): readonly string[] {
  return shellCommandsOf(page)
    .filter((command) => keyOf(ELSEWHERE, command) === undefined)
    .map((command) => {
      const key = keyOf(FILLED_IN, command);
      return key === undefined ? command : (FILLED_IN[key] ?? '').replace('COMMAND', () => command);
    });
}

/** A device of the standard home under the name and in the room that a page gives it. */
function called(original: string, name: string, area: string): DeviceSpec {
  const [spec] = homeOf(standardHome(), [original]).devices;
  if (!spec) throw new Error(`The standard home has no ${original}`);
  return { ...spec, name, area };
}

const standard = (...names: readonly string[]): readonly DeviceSpec[] => homeOf(standardHome(), names).devices;

/** What is another at each run: how old a value is. */
const steady = (line: string) => line.replaceAll(/\d+ s old/g, 'N s old').trimEnd();

vi.setConfig({ testTimeout: PAGE_LIMIT_MS, hookTimeout: PAGE_LIMIT_MS });

describe('README.md', () => {
  let reader: PageReader;
  beforeAll(async () => {
    reader = await PageReader.start({
      devices: standard('Living room lamp', 'Garden thermometer', 'Front door', STILL_IN_ITS_BOX),
      withSecond: true,
    });
    await Promise.all(['Garden thermometer', 'Front door'].map((name) => reader.commission(name)));
  });
  afterAll(() => reader?.[Symbol.asyncDispose]());

  test('its transcript is what the program prints', async () => {
    await reader.home.device('Garden thermometer').set(1, 'TemperatureMeasurement', 'MeasuredValue', -350);
    const shown = transcriptOf('README.md');
    expect(shown.length).toBeGreaterThan(3);
    for (const { command, printed } of shown) {
      const lines = (await reader.printed(command)).split('\n').map(steady);
      const missing = printed.map(steady).filter((line) => line !== '…' && !lines.includes(line));
      expect(missing, `${command}\n${lines.join('\n')}`).toEqual([]);
    }
  });

  test('every command that it prints does what it says', async () => {
    expect(await reader.follow(typed('README.md'))).toEqual([]);
    expect(await reader.home.device('Living room lamp').get(1, 'OnOff', 'OnOff')).toBe(true);
  });
});

describe('docs/first-light.md', () => {
  let reader: PageReader;
  beforeAll(async () => {
    reader = await PageReader.start({ devices: standard('Living room lamp') });
  });
  afterAll(() => reader?.[Symbol.asyncDispose]());

  test('every command that it prints does what it says, on a hub that is new', async () => {
    expect(await reader.follow(typed('docs/first-light.md'))).toEqual([]);
    expect(await reader.home.device('Living room lamp').get(1, 'OnOff', 'OnOff')).toBe(true);
  });
});

describe('docs/agents.md, automations.md, mcp.md, http.md and configuration.md', () => {
  let reader: PageReader;
  beforeAll(async () => {
    const devices = [
      ...standard('Living room lamp', 'Wall button', 'Thermostat', 'Kitchen window'),
      called('Bedroom lamp', 'Hall lamp', 'Hall'),
      called('Garden light sensor', 'Hall sensor', 'Hall'),
    ];
    reader = await PageReader.start({ devices });
    await Promise.all(devices.map(({ name }) => reader.commission(name)));
  });
  afterAll(() => reader?.[Symbol.asyncDispose]());

  test('the automations on the page are accepted with the permissions that it gives', async () => {
    const files = ['hall-light.yaml', 'wall-button.yaml', 'warm-up.yaml'];
    const examples = blocksOf('docs/automations.md', ['yaml']);
    expect(examples.length).toBeGreaterThan(files.length);
    for (const [index, file] of files.entries()) reader.write(file, examples[index] ?? '');
    expect(await reader.follow(typed('docs/agents.md'))).toEqual([]);
    const { agents } = (await reader.hub.result('core:list_agents')) as { agents: readonly JsonObject[] };
    expect(agents.map(({ agent_id }) => agent_id)).toEqual(expect.arrayContaining(['wall-button', 'warm-up', 'assistant']));
  });

  test.each(['docs/mcp.md', 'docs/configuration.md', 'docs/http.md'])('every command of %s does what it says', async (page) => {
    expect(await reader.follow(typed(page))).toEqual([]);
  });
});
