import type { MeshPorts } from '../calls/mesh-ports.ts';
import type { Authenticator, Authorizer, Principal } from '../core/auth/principal.ts';
import type { HubContext } from '../core/context.ts';
import type { DeviceDirectory } from '../core/devices/device-directory.ts';
import type { ReadingStore } from '../core/devices/sensor-readings.ts';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type JsonObject, objectOf } from '../core/json.ts';
import type { CallPort, HealthSource, JobPort } from '../http/ports.ts';
import type { ReadRateLimiter } from '../http/server/rate-limits.ts';
import type { ToolCatalogue } from '../http/tool-catalogue.ts';
import type { VisibleHome } from '../http/visible-home.ts';
import type { ToolDirectory } from '../tools/registry/tool-directory.ts';
import type { ToolRegistry } from '../tools/registry/tool-registry.ts';
import type { SchemaValidator } from '../tools/schema/schema-validator.ts';
import type { HomeSearchResult } from '../tools/search/home-search.ts';
import { InteractiveCalls } from './calls/interactive-calls.ts';
import { taskFeature } from './calls/tasks.ts';
import { ApprovalElicitation, LongCalls, pipelineRunner } from './calls/tool-runner.ts';
import type { McpCaller, McpFeature, McpNotifier } from './mcp-feature.ts';
import { HomePrompts, PluginPrompts, type PromptSource, promptFeature } from './prompts.ts';
import { HomeResources } from './resources/home-resources.ts';
import { PluginResources } from './resources/plugin-resources.ts';
import { ResourceChanges, resourceFeature } from './resources/resource-feature.ts';
import type { ResourceSource } from './resources/resource-source.ts';
import { toolFeature } from './tools/tool-feature.ts';

/** The parts of the hub that the MCP features need. */
export interface McpParts extends HomeFeatureParts {
  readonly authenticator: Pick<Authenticator, 'isStillValid'>;
  /** The rate limit of reads, shared with HTTP. */
  readonly reads: Pick<ReadRateLimiter, 'take'>;
  readonly catalogue: ToolCatalogue;
  readonly tools: ToolDirectory;
  readonly registry: ToolRegistry;
  readonly mesh: Pick<MeshPorts, 'tools'>;
  readonly home: VisibleHome;
  readonly readings: ReadingStore;
  readonly validator: SchemaValidator;
  readonly authorizer: Authorizer;
  readonly pipeline: CallPort;
  readonly jobs: JobPort;
  readonly health: HealthSource;
}

/** Returns all features of the MCP server. */
export function mcpFeatures(parts: McpParts, notifier: McpNotifier): readonly McpFeature[] {
  const { catalogue } = parts;
  const approvals = new ApprovalElicitation(parts);
  const interactive = new InteractiveCalls(parts);
  const run = pipelineRunner({ pipeline: parts.pipeline, approvals, interactive, longCalls: new LongCalls(parts) });
  const find = (principal: Principal, text: string, limit: number): HomeSearchResult => catalogue.find(principal, { text, limit });
  return [
    toolFeature(
      {
        registry: parts.registry,
        mesh: parts.mesh,
        tools: parts.tools,
        validator: parts.validator,
        authorizer: parts.authorizer,
        catalogue: parts.catalogue,
        reads: parts.reads,
        home: parts.home,
        readings: parts.readings,
        clock: parts.clock,
        run,
        find,
      },
      notifier,
    ),
    { capabilities: { logging: {} }, methods: {}, close: () => interactive[Symbol.dispose]() },
    ...homeFeatures(
      {
        home: parts.home,
        readings: parts.readings,
        directory: parts.directory,
        catalogue: parts.catalogue,
        events: parts.events,
        clock: parts.clock,
        interactive,
      },
      notifier,
    ),
    taskFeature(parts),
  ];
}

interface HomeFeatureParts extends Pick<HubContext, 'clock' | 'events'> {
  readonly home: VisibleHome;
  readonly readings: ReadingStore;
  readonly directory: Pick<DeviceDirectory, 'get'>;
  readonly catalogue: ToolCatalogue;
}

interface InteractiveParts {
  readonly interactive: InteractiveCalls;
}

/** Returns the features for resources, prompts and completion. They cover the home and plug-ins. */
export function homeFeatures(parts: HomeFeatureParts & InteractiveParts, notifier: McpNotifier): readonly McpFeature[] {
  const homeResources = new HomeResources(parts);
  const resources = [homeResources, new PluginResources(parts)];
  const prompts = [new HomePrompts({ home: parts.home, resources: homeResources }), new PluginPrompts(parts)];
  return [
    resourceFeature({
      sources: resources,
      notifier: new ResourceChanges({ events: parts.events, directory: parts.directory, home: parts.home, clock: parts.clock, notifier }),
    }),
    promptFeature({ interactive: parts.interactive, sources: prompts }),
    completionFeature({ prompts, resources }),
  ];
}

/** Maximum number of values in one response (MCP, completion). */
const MAX_VALUES = 100;

interface CompletionParts {
  readonly prompts: readonly PromptSource[];
  readonly resources: readonly ResourceSource[];
}

/** Returns `completion/complete`, which suggests values for an argument of a prompt or for a variable of a resource template. */
export function completionFeature(parts: CompletionParts): McpFeature {
  return {
    capabilities: { completions: {} },
    methods: {
      'completion/complete': async ({ ref, argument }, caller) => {
        const { name, value } = objectOf(argument);
        if (!isJsonObject(ref) || typeof name !== 'string' || typeof value !== 'string') {
          throw new AtmoError('VALIDATION_ERROR', 'completion/complete needs ref, and argument with name and value');
        }
        const fitting = matchingValues(valuesFor(parts, { ref, name }, caller), value);
        return { completion: { values: fitting.slice(0, MAX_VALUES), total: fitting.length, hasMore: fitting.length > MAX_VALUES } };
      },
    },
  };
}

interface CompletionTarget {
  readonly ref: JsonObject;
  readonly name: string;
}

/** Returns values from the first source that has the argument. Throws VALIDATION_ERROR if no source has it. */
function valuesFor({ prompts, resources }: CompletionParts, { ref, name }: CompletionTarget, caller: McpCaller): readonly string[] {
  if (ref.type === 'ref/prompt' && typeof ref.name === 'string') {
    const prompt = ref.name;
    const source = prompts.find((one) => one.list(caller).some((entry) => entry.name === prompt));
    const values = source?.values(prompt, name, caller);
    if (values) return values;
  }
  if (ref.type === 'ref/resource' && typeof ref.uri === 'string') {
    const template = ref.uri;
    for (const source of resources) {
      const values = source.values(template, name, caller);
      if (values) return values;
    }
  }
  throw new AtmoError('VALIDATION_ERROR', `There is no argument ${JSON.stringify(name.slice(0, 80))} of what ref names`);
}

/** Returns the values that begin with the text, then the values that only contain it. Letter case is ignored. */
function matchingValues(values: readonly string[], text: string): readonly string[] {
  const wanted = text.toLowerCase();
  const holding = [...new Set(values)].filter((value) => value.toLowerCase().includes(wanted));
  const begins = (value: string) => value.toLowerCase().startsWith(wanted);
  return [...holding.filter(begins), ...holding.filter((value) => !begins(value))];
}
