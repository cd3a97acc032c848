/* Runs compare.js under node, without a browser:
 *     node compare_node.js EXPLORERS freeze.json storm.json slot.json
 * where EXPLORERS is the directory of the scripts. Prints the differences;
 * status 1 if there are any. */
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [directory, ...files] = process.argv.slice(2);
const page = {readyState: 'complete', querySelectorAll: () => []};
const world = vm.createContext({document: page});
world.window = world;
for (const name of ['fp16', 'freeze', 'slot', 'storm'])
    vm.runInContext(fs.readFileSync(path.join(directory, name + '.js'), 'utf8'),
        world, name + '.js');
const [freeze, storm, slot] = files.map(
    (file) => JSON.parse(fs.readFileSync(file, 'utf8')));
const compare = vm.runInContext(fs.readFileSync(
    path.join(__dirname, 'compare.js'), 'utf8'), world, 'compare.js');
const differences = compare({freeze, storm, slot}, world.course);
for (const line of differences)
    console.log(line);
process.exitCode = differences.length ? 1 : 0;
