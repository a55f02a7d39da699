import { engineContract } from '../mesh/transport/engine-contract.ts';
import { Libp2pLab } from './mesh-engine-lab.ts';

engineContract('the libp2p engine', () => new Libp2pLab());
