import { installPlatform } from './simulated-platform.ts';

installPlatform();
