import { type JsonObject, objectOf, textsOf } from '../../core/json.ts';
import { meshText, unreachableHubs } from '../../doctor/mesh-finding.ts';
import type { HubMachineIo } from '../cli-io.ts';
import { type Command, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import { trustAuthority } from '../hub/hub-trust.ts';
import { meshIfAllowed } from '../hub/mesh-status.ts';
import { hubUrl } from '../identity/credential.ts';
import { qrBlock } from '../terminal/blocks.ts';
import { ageText, cellText, textPairs } from '../terminal/text-table.ts';
import { requestCommand, toolCommand } from '../tool-command.ts';

/** The command that runs a hub. */
export const serve: Command<HubMachineIo> = {
  name: 'serve',
  summary: 'run a hub in the foreground; prints READY when it answers',
  examples: ['serve', 'serve --json'],
  run: ({ io }) => io.serve(),
};

/** The command that says how a hub is. */
export const status: Command = {
  name: 'status',
  summary: 'how the hub is and what it has',
  examples: ['status', 'status --json'],
  async run({ hub, output }) {
    const health = await hub.health();
    const [devices, tools, sensors, mesh] = await Promise.all([
      hub.get('/api/v1/devices'),
      hub.get('/api/v1/tools', { limit: 1 }),
      hub.get('/api/v1/sensors'),
      meshIfAllowed(hub),
    ]);
    const list = objectsIn(devices, 'devices');
    const away = list.filter((device) => device.reachability !== 'reachable').map((device) => device.id);
    const summary = {
      ...health,
      url: hub.url,
      devices: list.length,
      unreachable: away,
      tools: tools.total,
      sensors: objectsIn(sensors, 'sensors').length,
      ...(mesh && { mesh: meshSummary(mesh) }),
    };
    output.answer(summary, () =>
      textPairs({
        hub: `${health.node_id} at ${hub.url}`,
        status: health.status,
        problems: textsOf(health.problems).join('; '),
        version: health.version,
        up: ageText(health.uptime_ms),
        devices: away.length === 0 ? list.length : `${list.length} (not reachable: ${away.join(', ')})`,
        tools: tools.total,
        sensors: summary.sensors,
        mesh: mesh ? meshText(mesh) : '',
      }),
    );
  },
};

function meshSummary(mesh: JsonObject): JsonObject {
  const { mesh_id: id = null, state = null } = mesh;
  return { id, state, peers: objectsIn(mesh, 'peers').length, unreachable: [...unreachableHubs(mesh)] };
}

const WRONG = 2;

/** The command that checks a configuration file without a hub. */
export const checkConfig: Command<HubMachineIo> = {
  name: 'config check',
  summary: 'check the configuration file and the manifest of tools, and name the line of a mistake; needs no hub',
  examples: ['config check', 'config check new-config.yaml'],
  operands: [{ name: 'FILE', help: 'file to check; the one that the hub would read by default', isOptional: true }],
  async run({ io, output, operands: [file] }) {
    const found = await io.configCheck(file);
    output.answer({ ok: found.problem === undefined, ...found }, () => `${found.problem ?? `${found.file}: no mistakes`}\n`);
    return found.problem === undefined ? undefined : WRONG;
  },
};

/** The command that lets a hub read its configuration file again. */
export const reloadConfig = requestCommand({
  name: 'config reload',
  summary: 'let the hub read its configuration again; what takes a restart is told',
  examples: ['config reload'],
  request: ({ hub }) => hub.call('hub:reload_config', {}),
  text(answer) {
    const { applied, needs_restart: waiting } = objectOf(answer);
    const [now, later] = [textsOf(applied), textsOf(waiting)];
    return [
      now.length > 0 ? `holds from now on: ${now.join(', ')}\n` : nothingApplied(later),
      ...(later.length > 0 ? [`after a restart: ${later.join(', ')} (on the hub: sudo systemctl restart atmosphere-edge)\n`] : []),
    ];
  },
});

function nothingApplied(waiting: readonly string[]): string {
  return waiting.length > 0 ? 'nothing changed that holds without a restart\n' : 'the file says what it said before\n';
}

const clockStatus = toolCommand({
  name: 'clock',
  summary: "the hub's time, and whether it is trusted",
  examples: ['clock'],
  tool: 'hub:clock_status',
  sentence: clockText,
});

const setClock = toolCommand({
  name: 'clock set',
  summary: "set the hub's time where no network tells it",
  examples: ['clock set 2026-05-01T18:30:00+02:00'],
  tool: 'hub:set_clock',
  operands: [{ name: 'TIME', help: 'the time now, with its offset from UTC: 2026-05-01T18:30:00+02:00', param: 'time' }],
  sentence: clockText,
});

/** Texts for people, by the source of the hub's time. */
const SOURCES: Readonly<Record<string, string>> = {
  owner: 'you set it',
  configuration: 'the configuration says so',
  network: 'the network tells it',
  hardware: 'the clock of the board tells it',
  host: 'the machine that this container or virtual machine runs on tells it',
  nothing: 'nothing tells it',
};

function clockText({ now, trusted, source }: JsonObject): string {
  const reason = SOURCES[cellText(source)] ?? cellText(source);
  const verdict =
    trusted === true
      ? `the hub trusts this time: ${reason}`
      : `the hub does not trust this time: ${reason}. Dangerous calls and times of the day wait; "atmo clock set TIME" helps`;
  return `${cellText(now)}\n${verdict}`;
}

/** The commands about the hub's clock, for boards without a battery-backed clock. */
export const clockCommands: readonly Command[] = [clockStatus, setClock];

/** The command that systemd runs each time the hub has ended, even after a crash. */
export const safeOutputs: Command<HubMachineIo> = {
  name: 'outputs safe',
  summary: 'set the GPIO outputs of the configuration to their safe state; needs no hub, and leaves alone what another program has',
  examples: ['outputs safe'],
  async run({ io, output }) {
    const found = await io.safeOutputs();
    const lines = [
      ...(found.safe.length > 0 ? [`safe: ${found.safe.join(', ')}`] : []),
      ...(found.missed.length > 0 ? [`not set: ${found.missed.join(', ')}`] : []),
    ];
    output.answer(found, () =>
      lines.length > 0 ? `outputs ${lines.join('; ')}\n` : output.isTerminal ? 'no outputs are configured\n' : '',
    );
  },
};

/** The commands that let other machines reach an installed hub. */
export const OPENING =
  'echo ATMO_HTTP_HOST=0.0.0.0 | sudo tee -a /etc/atmosphere-edge/environment && sudo systemctl restart atmosphere-edge';

const SHA256 = /^([0-9a-f]{2}:?){32}$/i;

const showTls: Command = {
  name: 'tls',
  summary: 'how other machines reach the hub over TLS: address, fingerprint to compare, QR of the certificate to trust',
  examples: ['tls', 'tls --json'],
  async run({ hub, output }) {
    const facts = await hub.get('/api/v1/tls');
    const url = String(facts.url);
    if (facts.enabled !== true) {
      output.answer(facts, () => `No other machine reaches the hub: it listens on ${url} alone. To open it, over TLS: ${OPENING}\n`);
      return;
    }
    if (facts.source === 'proxy') {
      output.answer(
        facts,
        () => `Other machines reach the hub at ${url}, by a reverse proxy, which has the certificate (http.proxy_url)\n`,
      );
      return;
    }
    const certificate = facts.source === 'own_authority' ? `${url}/ca.crt` : undefined;
    const picture = certificate === undefined || output.isJson ? '' : await qrBlock(certificate);
    output.answer({ ...facts, certificate_url: certificate }, () => {
      const pairs = {
        address: url,
        ...(facts.source !== 'acme' && { fingerprint: facts.fingerprint_sha256 }),
        certificate: certificate ?? (facts.source === 'acme' ? `by ${facts.issuer}` : "the owner's own"),
        names: textsOf(facts.names).join(', '),
        ends: facts.certificate_ends_at,
        ...(typeof facts.problem === 'string' && { problem: facts.problem }),
        elsewhere: facts.source === 'acme' ? `atmo login ${url}` : `ATMO_URL=${url} atmo tls trust ${facts.fingerprint_sha256}`,
      };
      return [picture, '\n', textPairs(pairs)];
    });
  },
};

const trustTls: Command = {
  name: 'tls trust',
  summary: 'trust the hub at ATMO_URL from now on, if its fingerprint is the one that "atmo tls" shows there',
  examples: ['tls trust AB:CD:…'],
  operands: [{ name: 'FINGERPRINT', help: 'SHA-256, as "atmo tls" shows it on the hub' }],
  async run({ io, operands: [fingerprint = ''], output }) {
    if (!SHA256.test(fingerprint)) throw usage('FINGERPRINT has to be 32 bytes in hexadecimal, as "sudo atmo tls" shows it on the hub');
    const url = new URL(hubUrl(io.env));
    const file = await trustAuthority(io.env, url, fingerprint);
    output.answer({ url: url.origin, fingerprint, file }, () => `${url.origin} is trusted; its authority is in ${file}\n`);
  },
};

/** The commands about TLS, which other machines need to reach the hub. */
export const tlsCommands: readonly Command[] = [showTls, trustTls];
