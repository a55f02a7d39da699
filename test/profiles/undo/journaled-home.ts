import { runSteps } from '../../../src/calls/composition/steps.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import type { DeviceDescription } from '../../../src/core/devices/device-model.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import { type Json, type JsonObject, objectOf } from '../../../src/core/json.ts';
import type { AuditHead, AuditLog, AuditQuery, AuditRow } from '../../../src/core/storage/audit-log.ts';
import type { AuditSink } from '../../../src/core/storage/audit-sink.ts';
import { LiveDeviceStates } from '../../../src/profiles/undo/live-device-states.ts';
import { AuditedCalls } from '../../../src/profiles/undo/traced-calls.ts';
import { undoTool } from '../../../src/profiles/undo/undo-tool.ts';
import { type AuditEntry, type ChainLink, fieldsOf, genesis, nextLink, rowOf } from '../../../src/storage/audit/audit-chain.ts';
import { deviceNames } from '../../../src/tools/names/resolve-names.ts';
import { ToolDirectory } from '../../../src/tools/registry/tool-directory.ts';
import { makePipeline, NO_OTHERS, owner } from '../../calls/pipeline-fixture.ts';
import { ToolHarness } from '../tool-harness.ts';

/** An audit log in memory, with rows as the real one writes them. */
export class MemoryAudit implements AuditSink, Pick<AuditLog, 'read' | 'head'> {
  readonly rows: AuditRow[] = [];
  readonly queries: AuditQuery[] = [];
  #link: ChainLink = genesis('hub-1');

  async record(entry: AuditEntry): Promise<void> {
    const fields = fieldsOf(entry);
    this.#link = nextLink(this.#link, 'hub-1', fields);
    this.rows.push(rowOf('hub-1', this.#link, fields));
  }

  head(): AuditHead {
    const { seq, hash } = this.#link;
    return { hub: 'hub-1', seq, hash, at: this.rows.at(-1)?.at ?? '' };
  }

  read(query: AuditQuery): readonly AuditRow[] {
    this.queries.push(query);
    const { before = Number.MAX_SAFE_INTEGER, after = 0, limit, sinceMs = 0, devices, ...names } = query;
    const found = this.rows.filter((row) => {
      const isInRange = row.seq < before && row.seq > after && Date.parse(row.at) >= sinceMs;
      const hasNames = Object.entries(names).every(([name, value]) => row[name as 'trace'] === value);
      return isInRange && hasNames && (devices === undefined || touches(row, devices));
    });
    return found.reverse().slice(0, limit);
  }
}

function touches({ kind, content }: AuditRow, devices: readonly string[]): boolean {
  return kind === 'intent' && (content.omitted !== undefined || devices.some((device) => Object.hasOwn(objectOf(content.before), device)));
}

/** A pipeline over a fake home, whose calls are written to a journal from which they are undone. */
export class JournaledHome {
  readonly harness: ToolHarness;
  readonly audit = new MemoryAudit();
  readonly parts: ReturnType<typeof makePipeline>;

  private constructor(harness: ToolHarness, extra: Parameters<typeof makePipeline>[0]) {
    this.harness = harness;
    const { home, registry, validator, clock, sync: devices, authorizer, homeNames: areas } = harness;
    const states = new LiveDeviceStates({ devices, access: home, directory: home, clock });
    const capabilities = ['matter_bridge', 'device_control', 'light_control', 'agent_runtime'];
    const tools = new ToolDirectory({ registry, self: { id: 'hub-1', name: 'cellar' }, remote: NO_OTHERS.tools, mesh: NO_OTHERS.view });
    registry.register(
      undoTool({
        members: { devices, names: deviceNames(() => home.list()), access: home, validator, directory: home, areas, authorizer },
        devices,
        access: home,
        audited: new AuditedCalls(this.audit, () => clock.now()),
        isComposed: (id) => registry.get(id)?.innerCalls !== undefined && !id.startsWith('hub:undo@'),
        restorableOf: ({ tool, params }) => registry.get(tool)?.restorable?.(params),
        runCalls: async (calls, context) => {
          const steps = calls.map(({ tool, params = {} }) => ({ tool, params }));
          const { failed } = await runSteps(this.parts.pipeline, steps, { context });
          if (failed) throw new AtmoError(failed.error.code, failed.error.message);
        },
      }),
    );
    this.parts = makePipeline({ registry, tools, validator, clock, audit: this.audit, states, capabilities: () => capabilities, ...extra });
  }

  static async start(descriptions: readonly DeviceDescription[], extra: Parameters<typeof makePipeline>[0] = {}): Promise<JournaledHome> {
    return new JournaledHome(await new ToolHarness(...descriptions).start(), extra);
  }

  /** Reports values: by `<device>/<endpoint>/<Cluster>.<Attribute>`. */
  report(values: Readonly<Record<string, Json>>): this {
    for (const [path, value] of Object.entries(values)) {
      const [device = '', endpoint = '', element = ''] = path.split('/');
      const [cluster = '', attribute = ''] = element.split('.');
      this.harness.home.report({ device: device as never, endpoint: Number(endpoint), cluster, attribute }, value);
    }
    return this;
  }

  rehearse(tool: string, params: JsonObject = {}, principal: Principal = owner) {
    return this.parts.pipeline.rehearse({ principal, tool, params });
  }

  call(tool: string, params: JsonObject = {}, principal: Principal = owner) {
    return this.parts.pipeline.call({ principal, tool, params });
  }
}
