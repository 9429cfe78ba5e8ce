import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { shortAmount } from './figures';

/** Bars of days, side by side. Screen readers cannot read them: show a table of the numbers too. */
export interface Bars {
  /** Labels of the places on the axis. */
  labels: string[];
  series: { name: string; colour: 'accent' | 'bad'; values: number[] }[];
  /** Told of the place and the series that was clicked, by their numbers. */
  pick?: (place: number, series: number) => void;
}

const HEIGHT_PX = 220;
/** Narrower than this a label overlaps the next. */
const LABEL_PX = 64;

export function Chart({ bars, describe }: { bars: Bars; describe: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const at = place.current;
    if (at === null) throw new Error('a chart needs a place');
    let chart = draw(at, bars);
    const again = () => {
      chart.destroy();
      chart = draw(at, bars);
    };
    const resized = new ResizeObserver(() => chart.setSize({ width: at.clientWidth, height: HEIGHT_PX }));
    resized.observe(at);
    // A drawn canvas keeps its colours when the colour scheme changes.
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', again);
    return () => {
      resized.disconnect();
      scheme.removeEventListener('change', again);
      chart.destroy();
    };
  }, [bars]);
  return <div class={`chart ${bars.pick ? 'picked' : ''}`} ref={place} role="img" aria-label={describe} />;
}

function draw(at: HTMLElement, { labels, series, pick }: Bars): UPlot {
  const colour = coloursOf(at);
  const width = 1 / (series.length + 0.5);
  const places = labels.map((_, i) => i);
  const axis = {
    stroke: colour('quiet'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
  };
  const chart = new UPlot(
    {
      width: at.clientWidth,
      height: HEIGHT_PX,
      cursor: { show: false },
      legend: { show: false },
      scales: {
        x: { time: false, range: [-0.5, labels.length - 0.5] },
        y: { range: (_chart, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 30,
          space: LABEL_PX,
          incrs: [1, 2, 5, 7, 10, 14],
          values: (_chart, splits) => splits.map((split) => labels[split] ?? ''),
        },
        { ...axis, size: 60, values: (_chart, splits) => splits.map(shortAmount) },
      ],
      series: [
        {},
        ...series.map(({ name, colour: of }, i) => ({
          label: name,
          fill: colour(of),
          stroke: colour(of),
          width: 0,
          points: { show: false },
          paths: barsAt(width, i - (series.length - 1) / 2),
        })),
      ],
    },
    [places, ...series.map(({ values }) => values)],
    at,
  );
  chart.root.addEventListener('click', ({ clientX }) => {
    const value = chart.posToVal(clientX - chart.over.getBoundingClientRect().left, 'x');
    const nearest = Math.round(value);
    // A place has a stretch for each series, side by side.
    const one = Math.floor((value - nearest + 0.5) * series.length);
    pick?.(nearest, Math.min(series.length - 1, Math.max(0, one)));
  });
  return chart;
}

/** @param shift how many widths a bar stands beside the middle of its place */
function barsAt(width: number, shift: number): UPlot.Series.PathBuilder {
  const bars = UPlot.paths.bars?.({
    size: [width, 36],
    disp: {
      x0: {
        unit: 1,
        values: (chart) => Array.from(chart.data[0], (place) => place + (shift - 0.5) * width),
      },
      size: { unit: 1, values: (chart) => Array.from(chart.data[0], () => width * 0.92) },
    },
  });
  if (bars === undefined) throw new Error('the chart library draws no bars');
  return bars;
}

/** A canvas knows no CSS variables, so an element in the page resolves them. */
function coloursOf(at: HTMLElement): (name: string) => string {
  return (name) => {
    const probe = document.createElement('span');
    probe.style.color = `var(--${name})`;
    at.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
}
