import { Alert, type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

// Grays whose middle is dark enough to be read: dimmed text is gray 6 on light and dark 2 on dark.
const gray: MantineColorsTuple = [
  '#f7f8fa',
  '#eff1f4',
  '#e4e7ec',
  '#d3d9e0',
  '#b6bfca',
  '#8a94a3',
  '#586172',
  '#414a58',
  '#2a313c',
  '#161a21',
];
const dark: MantineColorsTuple = [
  '#e4e8ee',
  '#c3cad4',
  '#98a2b1',
  '#6b7585',
  '#2c333e',
  '#222833',
  '#171c24',
  '#0f1218',
  '#0b0e13',
  '#07090d',
];
const water: MantineColorsTuple = [
  '#e8f6fa',
  '#d0ebf2',
  '#a2d7e5',
  '#6fc1d6',
  '#43adc8',
  '#2499b7',
  '#107f9c',
  '#0b6b86',
  '#08566d',
  '#054154',
];

export const theme = createTheme({
  primaryColor: 'water',
  primaryShade: { light: 7, dark: 7 },
  colors: { gray, dark, water },
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', 'Cascadia Code', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.25rem' },
  defaultRadius: 'md',
  headings: { fontWeight: '600' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    // Mantine's own colors of a notice are too pale to read.
    Alert: Alert.extend({
      vars: (_, { color }) => {
        const tone = color === 'red' ? 'bad' : color === 'yellow' ? 'warn' : 'note';
        return {
          root: {
            '--alert-radius': undefined,
            '--alert-bg': `var(--${tone}-bg)`,
            '--alert-color': `var(--${tone})`,
            '--alert-bd': '1px solid transparent',
          },
        };
      },
    }),
    Button: { defaultProps: { size: 'sm' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Tooltip: {
      defaultProps: {
        withArrow: true,
        multiline: true,
        openDelay: 150,
        events: { hover: true, focus: true, touch: true },
      },
    },
    Modal: {
      styles: { title: { fontWeight: 600, fontSize: '1rem' } },
      defaultProps: {
        closeButtonProps: { 'aria-label': 'Close' },
        centered: false,
        yOffset: '8vh',
        overlayProps: { backgroundOpacity: 0.45 },
      },
    },
  },
});

// What the portal's own style sheets use beside Mantine's variables.
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-body': '#ffffff',
    '--mantine-color-error': '#b42318',
    '--mantine-color-placeholder': '#6b7585',
    '--mantine-color-anchor': '#0b6b86',
    '--page': '#f7f8fa',
    '--surface': '#ffffff',
    '--surface-2': '#f7f8fa',
    '--line': '#e4e7ec',
    '--accent': '#0b6b86',
    '--accent-soft': '#e8f6fa',
    '--ok': '#136c3a',
    '--ok-bg': '#e5f5ec',
    '--warn': '#8a4b00',
    '--warn-bg': '#fff3dc',
    '--bad': '#b42318',
    '--bad-bg': '#fdeae8',
    '--note': '#414a58',
    '--note-bg': '#eff1f4',
    '--info': '#0b5d75',
    '--info-bg': '#e3f3f8',
  },
  dark: {
    '--mantine-color-body': '#171c24',
    '--mantine-color-error': '#ff9a90',
    '--mantine-color-placeholder': '#8d97a6',
    '--mantine-color-anchor': '#6fc1d6',
    '--page': '#0f1218',
    '--surface': '#171c24',
    '--surface-2': '#1c222b',
    '--line': '#2c333e',
    '--accent': '#6fc1d6',
    '--accent-soft': '#10303a',
    '--ok': '#6fd79b',
    '--ok-bg': '#123023',
    '--warn': '#f3bf6b',
    '--warn-bg': '#35270f',
    '--bad': '#ff9a90',
    '--bad-bg': '#3a1a18',
    '--note': '#c3cad4',
    '--note-bg': '#252c37',
    '--info': '#7fd0e3',
    '--info-bg': '#122d36',
  },
});
