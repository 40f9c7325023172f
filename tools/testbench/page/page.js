// The report's page: filters, the verdict grid, and the account of one run. Everything it shows comes from
// the JSON in the page; it asks nothing of any network.
'use strict';

(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const results = data.results;
  const verdicts = ['fail', 'pass', 'recorded', 'notrun'];
  const words = { pass: 'pass', fail: 'fail', recorded: 'recorded', notrun: 'not run' };
  const signs = { pass: '✓', fail: '✕', recorded: '◦', notrun: '–' };
  const palette = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b8a500', '#7f7f7f'];
  const wanted = { verdicts: new Set(verdicts), text: '', port: '' };
  let chosen = null;
  let plots = [];

  const $ = (id) => document.getElementById(id);
  const number = (value) => (Math.round(value * 10) / 10).toLocaleString('en', { maximumFractionDigits: 1 });
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === 'class') element.className = value;
      else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
      else if (value !== undefined && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  function draw(tag, attributes, ...children) {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  const keyOf = (run) => `${run.case} ${run.port} h${run.harts} s${run.seed} ${run.clock}`;

  // --- filters ---

  function worst(runs) {
    return verdicts.find((verdict) => runs.some((run) => run.verdict === verdict));
  }

  function shown() {
    const text = wanted.text.toLowerCase();
    return results.filter((run) => wanted.verdicts.has(run.verdict)
      && (!wanted.port || run.port === wanted.port)
      && (!text || run.case.toLowerCase().includes(text) || (run.description || '').toLowerCase().includes(text)));
  }

  function makeFilters() {
    for (const verdict of verdicts) {
      const count = results.filter((run) => run.verdict === verdict).length;
      if (!count) continue;
      $('verdicts').append(make('button', {
        type: 'button', class: verdict, 'data-verdict': verdict, 'aria-pressed': 'true',
        onclick: (event) => {
          const on = !wanted.verdicts.delete(verdict);
          if (on) wanted.verdicts.add(verdict);
          event.currentTarget.setAttribute('aria-pressed', String(on));
          showGrid();
        },
      }, `${signs[verdict]} ${count} ${words[verdict]}`));
    }
    $('search').addEventListener('input', (event) => { wanted.text = event.target.value; showGrid(); });
    const ports = [...new Set(results.map((run) => run.port))];
    $('port').append(make('option', { value: '' }, 'all'), ...ports.map((port) => make('option', { value: port }, port)));
    $('port').addEventListener('change', (event) => { wanted.port = event.target.value; showGrid(); });
  }

  // --- the grid ---

  function showGrid() {
    const runs = shown();
    const columns = [...new Map(runs.map((run) => [`${run.port} ${run.harts} ${run.clock}`, run])).values()];
    const order = ['hosted', 'rv64', 'rv32'];
    columns.sort((a, b) => order.indexOf(a.port) - order.indexOf(b.port)
      || a.clock.localeCompare(b.clock) * -1 || a.harts - b.harts);
    const groups = [];
    for (const column of columns) {
      const title = `${column.port}, ${column.clock}`;
      if (groups.length && groups[groups.length - 1].title === title) groups[groups.length - 1].span += 1;
      else groups.push({ title, span: 1 });
    }
    const cases = [...new Set(runs.map((run) => run.case))];
    $('count').textContent = `${runs.length} of ${results.length} runs, ${cases.length} cases`;
    if (!runs.length) {
      $('grid').replaceChildren(make('p', { class: 'empty' }, 'No run is left by these filters.'));
      return;
    }
    const head = make('thead', {},
      make('tr', {}, make('th', { rowspan: 2, scope: 'col' }, 'case'),
        ...groups.map((group) => make('th', { colspan: group.span, scope: 'colgroup' }, group.title))),
      make('tr', {}, ...columns.map((column) => make('th', { scope: 'col', 'aria-label': `${column.harts} harts` },
        `${column.harts}h`))));
    const body = make('tbody', {});
    for (const name of cases) {
      const row = make('tr', {}, make('th', { scope: 'row', title: runs.find((run) => run.case === name).description || name }, name));
      for (const column of columns) {
        const here = runs.filter((run) => run.case === name && run.port === column.port
          && run.harts === column.harts && run.clock === column.clock);
        row.append(make('td', {}, here.length ? cellOf(here) : ''));
      }
      body.append(row);
    }
    $('grid').replaceChildren(make('table', {}, head, body));
  }

  function cellOf(runs) {
    const verdict = worst(runs);
    const good = runs.filter((run) => run.verdict === 'pass' || run.verdict === 'recorded').length;
    const first = runs.find((run) => run.verdict === verdict);
    return make('button', {
      type: 'button', class: `cell ${verdict}`, 'data-key': keyOf(first),
      'aria-current': String(Boolean(chosen && runs.includes(chosen))),
      'aria-label': `${first.case} on ${first.port}, ${first.harts} harts, ${first.clock}: ${words[verdict]}, ${good} of ${runs.length} good`,
      onclick: () => choose(first, true),
    }, runs.length > 1 ? `${signs[verdict]} ${good}/${runs.length}` : signs[verdict]);
  }

  // Arrow keys go from cell to cell.
  $('grid').addEventListener('keydown', (event) => {
    const cell = event.target.closest('td');
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (!cell || !steps[event.key]) return;
    const [down, right] = steps[event.key];
    const rows = [...$('grid').querySelectorAll('tbody tr')];
    let row = rows.indexOf(cell.parentElement);
    let column = cell.cellIndex;
    for (;;) {
      row += down;
      column += right;
      const next = rows[row] && rows[row].cells[column];
      if (!next) return;
      const button = next.querySelector('button');
      if (button) {
        event.preventDefault();
        button.focus();
        return;
      }
    }
  });

  // --- one run ---

  function choose(run, move) {
    chosen = run;
    history.replaceState(null, '', `#${encodeURIComponent(keyOf(run))}`);
    for (const cell of $('grid').querySelectorAll('.cell')) {
      const [name, port, harts, , clock] = cell.dataset.key.split(' ');
      cell.setAttribute('aria-current', String(name === run.case && port === run.port
        && harts === `h${run.harts}` && clock === run.clock));
    }
    showRun();
    if (move && window.innerWidth < 1080) $('run').scrollIntoView({ block: 'start' });
  }

  function showRun() {
    plots.forEach((plot) => plot.destroy());
    plots = [];
    const run = chosen;
    const target = $('run');
    if (!run) {
      target.replaceChildren(make('p', { class: 'about' }, 'Choose a verdict to see its run.'));
      return;
    }
    const siblings = results.filter((other) => other.case === run.case && other.port === run.port
      && other.harts === run.harts && other.clock === run.clock);
    const seeds = siblings.length > 1
      ? make('label', {}, 'seed ', make('select', {
        id: 'seed', onchange: (event) => choose(siblings[Number(event.target.value)], false),
      }, ...siblings.map((other, at) => make('option', { value: at, selected: other === run },
        `${other.seed} ${signs[other.verdict]}`))))
      : make('span', {}, `seed ${run.seed}`);
    target.replaceChildren(...[
      make('h2', {}, run.case),
      make('p', { class: 'about' }, run.description || ''),
      make('div', { class: 'where' },
        make('span', { class: `badge ${run.verdict}` }, `${signs[run.verdict]} ${words[run.verdict]}`),
        make('span', {}, `${run.port}, ${run.harts} hart${run.harts > 1 ? 's' : ''}, ${run.clock} clock`),
        seeds,
        make('span', {}, `${run.trace.records.toLocaleString('en')} records, ${run.wall_s.toFixed(1)} s`)),
      run.reason ? make('p', { class: 'reason' }, run.reason) : null,
      failuresOf(run), sharesOf(run), figuresOf(run), timelineOf(run), curvesOf(run), historyOf(run),
      make('details', {}, make('summary', {}, 'How it was run'),
        make('pre', {}, `${run.command || ''}\nbuild ${run.build}${run.trace_kept ? `\ntrace ${run.trace_kept}` : ''}`)),
    ].filter(Boolean));
    plotAll();
  }

  function failuresOf(run) {
    if (!run.failures.length) return null;
    return make('div', { id: 'failures' }, make('h3', {}, 'What speaks against it'),
      ...run.failures.map((failure) => make('div', { class: 'failure' },
        make('b', {}, failure.check), ` ${failure.reason}`,
        failure.records ? make('pre', { class: 'records', tabindex: 0 }, failure.records) : null)));
  }

  function sharesOf(run) {
    if (!run.shares.length) return null;
    const list = make('div', { class: 'shares' });
    let window = 0;
    for (const share of run.shares) {
      if (share.window !== window) {
        window = share.window;
        list.append(make('div', { class: 'window' }, `window ${window}, of 1000`));
      }
      const bar = make('div', { class: `bar${share.judged && share.margin < 0 ? ' missed' : ''}` });
      const at = (value) => `${Math.max(0, Math.min(1000, value)) / 10}%`;
      if (share.judged) {
        const low = share.op === 'at_most' ? 0 : share.want - share.tolerance;
        const high = share.op === 'at_least' ? 1000 : share.want + share.tolerance;
        const band = make('b', {});
        band.style.left = at(low);
        band.style.right = `calc(100% - ${at(high)})`;
        bar.append(band);
      }
      const got = make('i', {});
      got.style.width = at(share.got);
      const owed = make('u', {});
      owed.style.left = at(share.want);
      bar.append(got, owed);
      bar.setAttribute('role', 'img');
      const says = `${share.budget} got ${number(share.got)}, owed ${number(share.want)}`;
      bar.setAttribute('aria-label', says);
      bar.title = `${says}, gross ${number(share.got_gross)}`;
      list.append(make('span', {}, share.budget), bar,
        make('span', {}, `${Math.round(share.got)} of ${Math.round(share.want)}${share.judged ? ` (${share.margin < 0 ? '' : '+'}${Math.round(share.margin)})` : ''}`));
    }
    return make('div', { id: 'shares' }, make('h3', {}, 'Shares: got, the line is what was owed, the band what is allowed'), list);
  }

  function figuresOf(run) {
    const told = run.figures.filter((figure) => figure.target !== null || figure.value !== 0);
    if (!told.length) return null;
    const signOf = { at_least: '≥', at_most: '≤', within: '±' };
    const rows = told.map((figure) => make('tr', { class: figure.judged && figure.margin < 0 ? 'fail' : '' },
      make('th', { scope: 'row' }, figure.name + (figure.group !== null ? ` ${figure.group}` : '')),
      make('td', {}, `${number(figure.value)} ${figure.unit}`),
      make('td', { class: 'of' }, figure.target === null ? ''
        : `${signOf[figure.op]} ${number(figure.target)}${figure.judged ? `, margin ${number(figure.margin)}` : ' (recorded)'}`)));
    return make('div', {}, make('h3', {}, 'Figures'), make('div', { class: 'scroll' },
      make('table', { class: 'figures' }, make('tbody', {}, ...rows))));
  }

  // --- who ran where ---

  function timelineOf(run) {
    const views = run.detail.views;
    if (!views.length) return null;
    const place = make('div', {});
    const readout = make('p', { class: 'readout', role: 'status' });
    const state = { view: views[0], from: 0, to: 0 };
    const show = () => drawTimeline(place, readout, run, state);
    const reset = (view) => { state.view = view; state.from = view.from; state.to = view.to; show(); };
    const zoom = (by) => {
      const middle = (state.from + state.to) / 2;
      const half = Math.max(5, (state.to - state.from) / 2 * by);
      state.from = Math.max(state.view.from, middle - half);
      state.to = Math.min(state.view.to, middle + half);
      show();
    };
    const pan = (by) => {
      const span = state.to - state.from;
      const move = Math.max(state.view.from - state.from, Math.min(state.view.to - state.to, by * span));
      state.from += move;
      state.to += move;
      show();
    };
    const button = (label, name, action) => make('button', { type: 'button', 'aria-label': name, title: name, onclick: action }, label);
    const element = make('div', { id: 'timeline' }, make('h3', {}, 'Who ran on which hart'),
      make('div', { class: 'controls' },
        make('label', {}, 'around ', make('select', { id: 'view', onchange: (event) => reset(views[Number(event.target.value)]) },
          ...views.map((view, at) => make('option', { value: at }, view.title)))),
        button('+', 'closer', () => zoom(0.5)), button('−', 'further', () => zoom(2)),
        button('←', 'earlier', () => pan(-0.25)), button('→', 'later', () => pan(0.25))),
      place, readout);
    reset(views[0]);
    return element;
  }

  // A budget has one colour in all that is drawn of a run.
  function colourIn(run, name) {
    if (!run.colours) {
      run.colours = [...new Set([...run.shares.map((share) => share.budget), ...run.detail.curves.map((curve) => curve.group),
        ...run.detail.views.flatMap((view) => view.stays.map((stay) => stay[1]))])].filter((one) => one !== 'all');
    }
    return palette[Math.max(0, run.colours.indexOf(name)) % palette.length];
  }

  function drawTimeline(place, readout, run, state) {
    const { view } = state;
    const width = Math.max(300, $('run').clientWidth - 54);
    const left = 52;
    const row = 34;
    const height = run.harts * row + 34;
    const x = (time) => left + (time - state.from) / (state.to - state.from) * (width - left - 8);
    const names = [...new Set(view.stays.map((stay) => stay[1]))];
    const colour = (name) => colourIn(run, name);
    const svg = draw('svg', { class: 'timeline', viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': `harts around ${view.title}` });
    for (let hart = 0; hart < run.harts; hart += 1) {
      svg.append(draw('text', { x: 0, y: hart * row + 22 }, `hart ${hart}`));
      svg.append(draw('rect', { x: left, y: hart * row + 8, width: width - left - 8, height: 20, fill: style('--back') }));
    }
    for (const [hart, who, from, to, how] of view.stays) {
      if (to < state.from || from > state.to) continue;
      const begin = Math.max(left, x(from));
      const end = Math.min(width - 8, x(to));
      const says = `${who} on hart ${hart} from ${number(from)} to ${number(to)} us, ${number(to - from)} us; ${how.replace('_', ' ')}`;
      const stay = draw('rect', { class: 'stay', x: begin, y: hart * row + 8, width: Math.max(1, end - begin), height: 20, rx: 2, fill: colour(who), tabindex: svg.querySelector('.stay') ? -1 : 0, role: 'img', 'aria-label': says });
      for (const event of ['mouseenter', 'focus']) stay.addEventListener(event, () => { readout.textContent = says; });
      svg.append(stay);
      if (end - begin > 8 * who.length) svg.append(draw('text', { x: begin + 4, y: hart * row + 22, style: 'fill:#fff;pointer-events:none' }, who));
    }
    for (const [at, hart, what] of view.marks) {
      if (at < state.from || at > state.to) continue;
      svg.append(draw('line', { class: 'mark', x1: x(at), x2: x(at), y1: hart * row + 2, y2: hart * row + 8 }, draw('title', {}, `${what} at ${number(at)} us`)));
    }
    if (view.at >= state.from && view.at <= state.to) {
      svg.append(draw('line', { class: 'event', x1: x(view.at), x2: x(view.at), y1: 0, y2: run.harts * row + 4 }));
    }
    for (let step = 0; step <= 4; step += 1) {
      const time = state.from + (state.to - state.from) * step / 4;
      svg.append(draw('text', { x: x(time), y: height - 10, 'text-anchor': step === 0 ? 'start' : step === 4 ? 'end' : 'middle' }, `${(time / 1000).toFixed(2)} ms`));
    }
    // One stop of the Tab key; from there the arrow keys go from stay to stay.
    svg.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const stays = [...svg.querySelectorAll('.stay')];
      const next = step && stays[stays.indexOf(event.target) + step];
      if (next) {
        event.preventDefault();
        next.focus();
      }
    });
    const key = make('div', { class: 'key' }, ...names.map((name) => {
      const entry = make('span', {}, name);
      entry.style.setProperty('--of', colour(name));
      return entry;
    }));
    readout.textContent = `the line is ${view.title}, at ${number(view.at)} us; ticks are wakes`;
    svg.addEventListener('redraw', () => drawTimeline(place, readout, run, state));
    place.replaceChildren(svg, key);
  }

  // --- plots ---

  let waiting = [];

  function plotLater(options, series, place) {
    waiting.push({ options, series, place });
  }

  function plotAll() {
    for (const { options, series, place } of waiting) {
      const axis = { stroke: style('--quiet'), grid: { stroke: style('--line'), width: 1 }, ticks: { stroke: style('--line') } };
      options.axes = options.axes.map((one) => ({ ...axis, ...one }));
      plots.push(new uPlot({ ...options, width: Math.max(240, place.clientWidth) }, series, place));
    }
    waiting = [];
  }

  window.addEventListener('resize', () => {
    const svg = document.querySelector('svg.timeline');
    if (svg) svg.dispatchEvent(new Event('redraw'));
    for (const plot of plots) {
      plot.setSize({ width: Math.max(240, plot.root.parentElement.clientWidth), height: plot.height });
    }
  });

  function curvesOf(run) {
    const names = [...new Set(run.detail.curves.map((curve) => curve.name))];
    if (!names.length) return null;
    const percentiles = data.percentiles;
    const sections = names.map((name) => {
      const curves = run.detail.curves.filter((curve) => curve.name === name);
      const place = make('div', { class: 'plot' });
      const least = 0.1;  // a logarithm has no zero
      plotLater({
        height: 210,
        scales: { x: { time: false, range: [0, percentiles.length - 1] }, y: { distr: 3 } },
        axes: [
          { splits: () => percentiles.map((_, at) => at), values: (_, at) => at.map((one) => ([0, 50, 90, 99, 100].includes(percentiles[one]) ? `p${percentiles[one]}` : '')) },
          { size: 62, label: curves[0].unit, labelSize: 18 },
        ],
        series: [{ label: 'percentile', value: (_, at) => (at === null ? '–' : `p${percentiles[at]}`) },
          ...curves.map((curve, at) => ({
            label: `${curve.group} (${curve.count.toLocaleString('en')})`, stroke: colourIn(run, curve.group), width: 2,
            dash: at >= palette.length ? [5, 4] : undefined,
            value: (_, value) => (value === null ? '–' : `${number(value)} ${curve.unit}`),
          }))],
      }, [percentiles.map((_, at) => at), ...curves.map((curve) => curve.values.map((value) => Math.max(least, value)))], place);
      return make('div', {}, make('h3', {}, `Percentiles: ${name}`), place);
    });
    return make('div', { id: 'curves' }, ...sections);
  }

  function historyOf(run) {
    const same = (other) => other.case === run.case && other.port === run.port && other.harts === run.harts && other.clock === run.clock && other.seed === run.seed;
    const points = data.history.flatMap((bench) => bench.runs.filter((other) => same(other) && other.margin !== null)
      .map((other) => ({ ...other, commit: bench.commit, when: bench.when })));
    const recorded = data.recorded && data.recorded.results.find(same);
    const children = [];
    if (points.length > 1) {
      const place = make('div', { class: 'plot' });
      plotLater({
        height: 150,
        scales: { x: { time: false } },
        axes: [{ values: (_, at) => at.map((one) => (Number.isInteger(one) && points[one] ? points[one].commit.slice(0, 7) : '')) }, { size: 56 }],
        series: [{ label: 'bench', value: (_, at) => (at === null ? '–' : `${points[at].commit}, ${new Date(points[at].when * 1000).toISOString().slice(0, 16)}`) },
          { label: 'margin of the nearest figure, 1 = all that is allowed', stroke: palette[0], width: 2, points: { show: true, size: 6 } }],
      }, [points.map((_, at) => at), points.map((point) => point.margin)], place);
      children.push(place);
    }
    if (recorded) {
      const before = new Map(recorded.figures.map((figure) => [figure.name, figure]));
      const moved = run.figures.map((figure) => [figure, before.get(figure.name)])
        .filter(([figure, old]) => old && Math.abs(figure.value - old.value) >= 1 && Math.abs(figure.value - old.value) >= 0.01 * Math.abs(old.value));
      children.push(make('p', {}, `Recorded at ${data.recorded.commit}: ${words[recorded.verdict]}${recorded.verdict === run.verdict ? ', as now' : `, now ${words[run.verdict]}`}. `
        + (moved.length ? 'Since then:' : 'No figure has moved since.')));
      if (moved.length) {
        children.push(make('div', { class: 'scroll' }, make('table', { class: 'figures' }, make('tbody', {}, ...moved.map(([figure, old]) => make('tr', {},
          make('th', { scope: 'row' }, figure.name), make('td', {}, number(old.value)), make('td', {}, `→ ${number(figure.value)} ${figure.unit}`)))))));
      }
    }
    if (!children.length) return null;
    return make('div', { id: 'history' }, make('h3', {}, 'History'), ...children);
  }

  // --- the page ---

  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
  }

  $('theme').addEventListener('click', () => {
    setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
    showRun();
  });
  setTheme(window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  $('origin').textContent = [data.commit && `commit ${data.commit}`, data.host, data.qemu].filter(Boolean).join(' · ');
  $('footer').textContent = Object.entries(data.compilers).map(([build, compiler]) => `${build}: ${compiler}`).join(' · ');
  makeFilters();
  const asked = decodeURIComponent(location.hash.slice(1));
  chosen = results.find((run) => keyOf(run) === asked) || results.find((run) => run.verdict === 'fail') || results[0] || null;
  showGrid();
  showRun();
})();
