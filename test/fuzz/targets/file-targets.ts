import { readFileSync } from 'node:fs';
import { compileRules } from '../../../src/auth/rules/rule-compiler.ts';
import { parseAutomationText } from '../../../src/automations/plan/automation-text.ts';
import { Expression } from '../../../src/automations/plan/expression.ts';
import { parseAutomation } from '../../../src/automations/plan/parse-automation.ts';
import { nextCronTime, requireCron } from '../../../src/automations/triggers/cron.ts';
import { readRegistration } from '../../../src/calls/registration/tool-record.ts';
import { parseCheckedYaml, yamlText } from '../../../src/core/config/checked-yaml.ts';
import { isJsonObject, type JsonObject } from '../../../src/core/json.ts';
import { loadConfig } from '../../../src/hub/config/config.ts';
import { CONFIG_SCHEMA, type ConfigFile } from '../../../src/hub/config/config-file.ts';
import { manufacturerModel } from '../../../src/matter/model/manufacturer-clusters.ts';
import { ProfileSchemaCheck, readProfileSchemas } from '../../../src/profiles/files/load-profiles.ts';
import { parseTable, tableText } from '../../../src/storage/backup/archive-content.ts';
import { openStream } from '../../../src/storage/backup/archive-encryption.ts';
import { parseRecordFile } from '../../../src/tools/manifest/record-file.ts';
import { SchemaValidator } from '../../../src/tools/schema/schema-validator.ts';
import { quickly } from '../../storage/backup/quick-derivation.ts';
import { bytesTarget, jsonTarget, requireSame, type Target, textTarget, unlessRefused } from '../target.ts';

const CONFIG = `http:
  host: 0.0.0.0
  port: 8443
  tls: { names: [hub.example.org], acme: { names: [hub.example.org], agree_to_terms: true, dns_command: [/usr/bin/dns] } }
matter: { attestation: ask, ble: false }
mesh: { enabled: true, port: 4300 }
roles:
  guest: { permissions: ['device:control:@area/hall'], ttl_seconds: 3600 }
connectors:
  mqtt: { url: 'mqtt://broker:1883' }
  web: { enabled: true }
# a comment
tools: &tools { disabled: [echo] }
`;
const RULES = `timezone: Europe/Berlin
default: deny
rules:
  - name: no heating at night
    effect: deny
    when: { agent: [a, b], tool: 'core:*', device_type: thermostat, time: { from: '22:00', to: '06:00' }, days: [mon, sun] }
  - name: high values
    effect: approve
    persons: 2
    when: { value: { name: heating_setpoint, above: 25 }, param: { level: { below: 5, one_of: [1, a, null] } } }
`;
const AUTOMATION = {
  parameters: { level: { value: 30, type: 'number', description: 'How bright' } },
  trigger: [
    { type: 'time', at: '07:30', days: ['mon', 'fri'], time_zone: 'Europe/Berlin' },
    { type: 'reading', sensor: 'hall/temperature', above: 25, for_seconds: 60 },
    { type: 'time', cron: '*/5 8-10 * * 1-5' },
    { type: 'sun', event: 'sunset', offset_minutes: -10 },
  ],
  conditions: [
    {
      type: 'or',
      conditions: [
        { type: 'flag', name: 'away', equals: true },
        { type: 'expression', expression: 'readings["hall/temperature"] > 20.0' },
      ],
    },
  ],
  actions: [
    { tool: 'core:lamp_turn_on', params: { device_id: 'lamp', level: { param: 'level' } } },
    { type: 'wait', seconds: 5 },
    { type: 'choose', choices: [{ conditions: [], actions: [{ type: 'notify', message: 'x' }] }] },
    { type: 'repeat', times: 3, actions: [{ type: 'set_flag', name: 'away', value: false }] },
  ],
  cooldown_seconds: 10,
};
const EXPRESSIONS = [
  'params.level * 2 + 1 > 3 ? "a" : "b"',
  'readings["hall/temperature"] >= 20.5 && !flags.away || trigger.value in [1, 2.0, "x"]',
  'has(answers.name) && size(trigger.text) > 2 && trigger.text.startsWith("a") || int("7") == 7',
  'timestamp("2026-01-01T00:00:00Z") < now && now - duration("1h") > now && now.getHours() == 3',
  'string(double(params.level)) + trigger.text.trim().lowerAscii() == {"a": 1, "b": [true, null]}["a"]',
];
const VALUES = {
  params: { level: 3 },
  trigger: { value: 2.5, text: ' Abc ' },
  answers: { name: 'x' },
  flags: { away: true },
  readings: { 'hall/temperature': 21.5 },
  nowMs: 1_767_225_600_000,
};
const REGISTRATION = {
  name: 'greet',
  description: 'Greets a person',
  parameters: {
    type: 'object',
    properties: { name: { type: 'string', maxLength: 20, pattern: '^[a-z]+$' } },
    required: ['name'],
    additionalProperties: false,
  },
  returns: { type: 'object', properties: { text: { type: 'string' } } },
  requires: { permissions: ['device:control:{name}'] },
  steps: [{ tool: 'core:echo', params: { text: { $param: 'name' } } }],
};
const RECORD = {
  id: 'own:run',
  description: 'Runs a program',
  input_schema: { type: 'object', properties: { a: { type: 'integer' } } },
  output_schema: {},
  permissions: ['admin:x'],
  safety_level: 'low',
  exec: { command: ['/usr/bin/env', '{a}'], timeout_ms: 100 },
};
const TABLE = {
  version: '1.0.0',
  hub: 'hub-1',
  madeAt: '2026-01-01T00:00:00Z',
  entries: [{ path: 'a/b.db', bytes: 3, isExecutable: true }],
};
const CLUSTER = {
  id: '0xFFF1FC01',
  name: 'Sparkle',
  attributes: [{ id: '0x0000', name: 'Level', type: 'uint8', access: { read: 'view', write: 'operate' } }],
  commands: [{ id: 0, name: 'Blink', fields: [{ id: 0, name: 'Times', type: 'uint8' }] }],
};

const validator = new SchemaValidator();
const PROFILES = new URL('../../../device-profiles', import.meta.url).pathname;
const profiles = new ProfileSchemaCheck(readProfileSchemas(PROFILES));
const capability = (name: string): unknown => JSON.parse(readFileSync(`${PROFILES}/capabilities/${name}.json`, 'utf8'));

function checkConfig(text: string): void {
  const file = parseCheckedYaml(text, 'config.yaml', CONFIG_SCHEMA) as ConfigFile;
  loadConfig({}, '/nowhere', file);
}

/** A text that is read is written and read again as the same configuration. */
function checkAutomationText(text: string): void {
  const written = parseAutomationText(text);
  if (!('config' in written)) return;
  written.lineOf(['actions', 0, 'tool']);
  const again = parseAutomationText(yamlText(written.config));
  requireSame('config' in again ? again.config : again, written.config, 'a configuration is read again as it was written');
  checkAutomation(written.config);
}

function checkAutomation(config: JsonObject): void {
  unlessRefused(() => parseAutomation(config, validator));
}

function checkExpression(text: string): void {
  const expression = unlessRefused(() => Expression.parse(text));
  if (expression) unlessRefused(() => expression.evaluate(VALUES));
}

function checkCron(cron: string): void {
  requireCron(cron);
  const afterMs = Date.UTC(2026, 2, 28, 20);
  const nextMs = nextCronTime({ cron, timeZone: 'Europe/Berlin' }, afterMs);
  requireSame(nextMs === undefined || nextMs > afterMs, true, 'the next moment is later');
}

function checkTable(text: string): void {
  const table = parseTable(text);
  requireSame(parseTable(tableText(table)), table, 'the table of a backup is read again as it was written');
}

async function checkArchive(input: Uint8Array): Promise<void> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield input.subarray(0, 30);
    yield input.subarray(30);
  }
  for await (const _ of openStream(pieces(), 'passphrase', quickly));
}

const ARCHIVE_HEAD = Buffer.concat([Buffer.from('atmosphere-edge backup\n'), Uint8Array.of(1, 16, 8, 1), Buffer.alloc(16 + 32 + 20)]);

/** Files that the owner, or who gives the owner a file, writes. */
export const FILE_TARGETS: readonly Target[] = [
  textTarget('config', 'core/config/checked-yaml.ts', {
    run: checkConfig,
    seeds: [CONFIG, '{"http":{"port":1}}', '%YAML 1.2\n---\na: !!str 1\n'],
  }),
  textTarget('rules', 'auth/rules/rule-compiler.ts', { run: (text) => compileRules(text, 'rules.yaml'), seeds: [RULES] }),
  textTarget('automation-text', 'automations/plan/automation-text.ts', {
    run: checkAutomationText,
    seeds: [yamlText(AUTOMATION), JSON.stringify(AUTOMATION)],
  }),
  jsonTarget('automation', 'automations/plan/parse-automation.ts', {
    run: (value) => isJsonObject(value) && checkAutomation(value),
    seeds: [AUTOMATION],
  }),
  textTarget('expression', 'automations/plan/expression.ts', { run: checkExpression, seeds: EXPRESSIONS, maxBytes: 600 }),
  textTarget('cron', 'automations/triggers/cron.ts', {
    run: checkCron,
    seeds: ['*/5 8-10 * * 1-5', '0 0 29 2 *', '30 2 * JAN-MAR SUN#2', '0,30 2 L * ?'],
    maxBytes: 200,
  }),
  textTarget('manifest', 'tools/manifest/record-file.ts', {
    run: (text) => parseRecordFile(text, 'tools.yaml'),
    seeds: [yamlText({ tools: [REGISTRATION, RECORD] })],
  }),
  jsonTarget('registration', 'calls/registration/tool-record.ts', {
    run: (value) => isJsonObject(value) && readRegistration(value, { createdBy: 'agent', namespace: 'own' }),
    seeds: [REGISTRATION, RECORD],
  }),
  jsonTarget('profile', 'profiles/files/load-profiles.ts', {
    run: (content) => profiles.problems({ kind: 'capabilities', id: 'x', path: 'x.json', content }),
    seeds: ['thermostat', 'on-off'].map(capability),
  }),
  jsonTarget('cluster-model', 'matter/model/manufacturer-clusters.ts', {
    run: (value) => manufacturerModel(value, 'x.json'),
    seeds: [CLUSTER],
  }),
  textTarget('backup-table', 'storage/backup/archive-content.ts', { run: checkTable, seeds: [tableText(TABLE)] }),
  bytesTarget('backup-archive', 'storage/backup/archive-encryption.ts', { run: checkArchive, seeds: [ARCHIVE_HEAD] }),
];
