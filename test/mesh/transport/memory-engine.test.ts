import { engineContract } from './engine-contract.ts';
import { MemoryLab } from './memory-lab.ts';

engineContract('the in-memory engine', () => new MemoryLab());
