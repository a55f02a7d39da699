import '../matter-platform.ts';
import { CommissioningError, ControllerCommissioningFlow } from '@matter/main/protocol';
import type { CommissionStep } from '../../core/devices/device-administration.ts';

/** How far a device has come; decides what has to be done with it after an interruption. */
export type CommissionStage =
  /** Nothing of ours is on the device but a fail-safe timer. */
  | 'intent'
  /** It may hold our fabric until its fail-safe expires. */
  | 'credentials'
  /** It was told to keep our fabric; whether it heard is not known. */
  | 'completing'
  /** It keeps our fabric. */
  | 'commissioned';

/** Hears the flow; what throws stops it. */
export interface FlowObserver {
  onStep(step: CommissionStep, note: string): void;
  onStage(stage: CommissionStage): void;
  /** Stops the flow between and within steps, until the device is told to keep our fabric. */
  readonly signal: AbortSignal;
}

interface StepMeaning {
  readonly step: CommissionStep;
  readonly note: string;
  /** Reached before the step runs, and after it. */
  readonly before?: CommissionStage;
  readonly after?: CommissionStage;
}

/** Steps of matter.js (numbers of Core §5.5) in the words of core. */
const MEANINGS: Readonly<Record<string, StepMeaning>> = {
  '0.1': { step: 'connect', note: 'reading what the device is' },
  '7.1': { step: 'connect', note: 'starting the fail-safe timer' },
  '8.1': { step: 'connect', note: 'setting the region' },
  '8.2': { step: 'connect', note: 'setting the time' },
  '10.1': { step: 'attest', note: 'checking who made the device' },
  '11.1': { step: 'attest', note: 'giving the device an identity in this home', before: 'credentials' },
  '15.1': { step: 'attest', note: 'giving this hub control' },
  '16.1': { step: 'network', note: 'checking the network credentials' },
  '16.2': { step: 'network', note: 'joining the Wi-Fi network' },
  '16.3': { step: 'network', note: 'joining the Thread network' },
  '18.1': { step: 'join', note: 'finding the device on the network' },
  '20.1': { step: 'join', note: 'finishing', before: 'completing', after: 'commissioned' },
  '98.1': { step: 'interview', note: 'naming the home on the device' },
};

type FlowArguments = ConstructorParameters<typeof ControllerCommissioningFlow>;

/** matter.js's commissioning flow that tells `observer` each step before it runs. */
export function observedFlow(observer: FlowObserver): typeof ControllerCommissioningFlow {
  return class extends ControllerCommissioningFlow {
    constructor(...options: FlowArguments) {
      super(...options);
      for (const step of this.commissioningSteps) {
        const run = step.stepLogic;
        const meaning = MEANINGS[`${step.stepNumber}.${step.subStepNumber}`];
        if (meaning !== undefined) step.stepLogic = () => observe(observer, meaning, run);
      }
    }
  };
}

async function observe<Result>(observer: FlowObserver, meaning: StepMeaning, run: () => Promise<Result>): Promise<Result> {
  failIfAborted(observer.signal);
  observer.onStep(meaning.step, meaning.note);
  if (meaning.before !== undefined) tellStage(observer, meaning.before);
  // From here on the device may keep our fabric: giving up would only lose sight of it.
  const isInterruptible = meaning.before !== 'completing' && meaning.step !== 'interview';
  const result = await (isInterruptible ? raceAbort(observer.signal, run()) : run());
  if (meaning.after !== undefined) tellStage(observer, meaning.after);
  return result;
}

/** Only a CommissioningError makes matter.js take the fail-safe back, so that the device can be tried again at once. */
function tellStage(observer: FlowObserver, stage: CommissionStage): void {
  try {
    observer.onStage(stage);
  } catch (cause) {
    throw new CommissioningError('The commissioning journal could not be written', { cause });
  }
}

function failIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new CommissioningError('Commissioning was stopped', { cause: signal.reason });
}

async function raceAbort<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(new CommissioningError('Commissioning was stopped', { cause: signal.reason }));
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
