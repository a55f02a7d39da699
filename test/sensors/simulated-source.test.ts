import { sensorSourceContract } from './sensor-source-contract.ts';
import { SimulatedSource } from './simulated-source.ts';

sensorSourceContract('what tests use', async () => {
  const source = new SimulatedSource().plug('sim:one/temperature', 20).plug('sim:two/temperature', -3.5);
  return {
    source,
    unplug: (address) => source.unplug(address),
    provoke: (address) => source.provoke(address),
    async [Symbol.asyncDispose]() {},
  };
});
