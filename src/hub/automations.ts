import { TokenRateLimiter } from '../auth/tokens/token-rate-limiter.ts';
import { AgentRunner } from '../automations/agent-runner.ts';
import { agentTools } from '../automations/agent-tools.ts';
import { type CheckPorts, type DeviceValues, NO_DEVICE_VALUES } from '../automations/automation-ports.ts';
import { checkAutomationTool } from '../automations/check/check-tools.ts';
import { AutomationForecast } from '../automations/forecast/automation-forecast.ts';
import { HomeThings } from '../automations/home-things.ts';
import { flagTools } from '../automations/house/flag-tools.ts';
import { House, type Place } from '../automations/house/house.ts';
import { presenceTools } from '../automations/house/presence-tools.ts';
import { convertAutomationTool } from '../automations/plan/convert-tool.ts';
import { ProposalStore } from '../automations/proposals/proposal-store.ts';
import { proposalTools } from '../automations/proposals/proposal-tools.ts';
import { Proposals } from '../automations/proposals/proposals.ts';
import { AutomationReplayer } from '../automations/replay/automation-replay.ts';
import { EventRecorder } from '../automations/replay/event-recorder.ts';
import { replayAutomationTool } from '../automations/replay/replay-tool.ts';
import { explainAutomationTool } from '../automations/traces/explain-tool.ts';
import { TraceLog } from '../automations/traces/trace-log.ts';
import { UsedDevices } from '../automations/used-devices.ts';
import { versionTools } from '../automations/versions/version-tools.ts';
import type { LocationConfig } from '../connectors/location/location-config.ts';
import type { ServiceStack } from '../core/lifecycle.ts';
import type { Questions } from '../core/questions.ts';
import { RemovedPersons } from '../notices/removed-persons.ts';
import type { SceneStore } from '../profiles/home/scene-store.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ToolServices } from './tool-services.ts';

/** Rate of replays of one caller: one each ten seconds, since one may take as long. */
const REPLAYS = { burst: 6, perSecond: 0.1 } as const;
/** Rate at which one caller has texts of automations read. The page does it after each pause of who writes. */
const CONVERSIONS = { burst: 20, perSecond: 1 } as const;

/** Rate of edits of one agent with all that comes from it: sixty an hour, thirty of them at once. The owner has no limit. */
const EDITS = { burst: 30, perSecond: 1 / 60 } as const;

interface AutomationOptions {
  /** The scenes of the home; undefined if Matter is off. */
  readonly scenes: Pick<SceneStore, 'get' | 'find' | 'onChange'> | undefined;
  /** Configured locations by device id; undefined if there are none. */
  readonly location: LocationConfig | undefined;
  /** The values and events of the devices; undefined if Matter is off. */
  readonly values: DeviceValues | undefined;
  readonly questions: Questions;
  readonly stack: ServiceStack;
}

const NO_SCENES = { get: () => undefined, find: () => undefined, onChange: () => () => {} };

/** The agents of the hub, and the automations that agents propose. */
interface Automations {
  readonly runner: AgentRunner;
  readonly proposals: Proposals;
  /** The devices that the automations use, known from its start on, which has to come after that of the runner. */
  readonly used: UsedDevices;
}

/** Opens the flags of the house and the presence of its people, and registers the tools of agents. The runner starts them. */
export async function openAutomations(
  infrastructure: Infrastructure,
  services: ToolServices,
  { location, scenes = NO_SCENES, values = NO_DEVICE_VALUES, questions, stack }: AutomationOptions,
): Promise<Automations> {
  const { clock, logger, events, store, readings, directory: devices, deviceGroups, homeNames: names, auth, attention } = infrastructure;
  const { validator, pipeline, meshProxy: mesh, tools: registry } = services;
  const { authorizer, tokens, time, rules, people } = auth;
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const house = new House({ clock, store, events }, { place: placeOf(location) });
  await stack.start(house);
  await stack.start(new RemovedPersons({ people, stores: [house.presences] }));
  const things = new HomeThings({ devices, readings, names, scenes });
  const traces = new TraceLog({ rows: readings.traces, clock, logger, time });
  await stack.start(traces);
  const runner = new AgentRunner({
    traces,
    clock,
    logger,
    events,
    time,
    timeZone,
    store,
    readings,
    devices,
    house,
    questions,
    tokens,
    people,
    edits: new TokenRateLimiter(clock, { fixedRate: EDITS }),
    authorizer,
    pipeline,
    registry,
    things,
    validator,
    mesh,
  });
  const check: CheckPorts = {
    clock,
    timeZone,
    readings,
    devices,
    facts: deviceGroups,
    values,
    house,
    authorizer,
    rules,
    registry,
    validator,
    mesh,
  };
  const used = new UsedDevices({ agents: runner.directory, check, events, scenes, names, attention });
  attention.addUser((device) => used.has(device));
  services.coming.use(new AutomationForecast({ check, agents: runner.directory, comingOf: (agent) => runner.comingOf(agent) }));
  const checkTools = { agents: runner.directory, registry, things, authorizer, validator, check, logger };
  await stack.start(new EventRecorder({ clock, events, house, history: readings.events }));
  const replayer = new AutomationReplayer({ check, house, readings, events: readings.events });
  const limiter = new TokenRateLimiter(clock, { fixedRate: REPLAYS });
  const proposals = new Proposals({ store: new ProposalStore(store, clock), runner, people, events, ports: checkTools });
  const tools = [
    ...agentTools(runner, checkTools),
    checkAutomationTool(checkTools),
    replayAutomationTool({ replayer, limiter, tools: checkTools }),
    convertAutomationTool(checkTools, new TokenRateLimiter(clock, { fixedRate: CONVERSIONS })),
    explainAutomationTool(runner, {
      clock,
      timeZone,
      traces,
      readings,
      devices,
      facts: deviceGroups,
      values,
      house,
      authorizer,
      rules,
      registry,
      validator,
      mesh,
    }),
    ...versionTools(runner, checkTools),
    ...proposalTools({ proposals, tools: checkTools }),
    ...flagTools(house.flags, authorizer),
    ...presenceTools(house.presences, people),
  ];
  for (const tool of tools) services.registry.register(tool);
  return { runner, proposals, used };
}

/** Returns the configured coordinates of the hub. A place that only a receiver knows has none. */
function placeOf({ hub }: LocationConfig = {}): Place | undefined {
  const { latitude, longitude } = hub ?? {};
  return latitude === undefined || longitude === undefined ? undefined : { latitude, longitude };
}
