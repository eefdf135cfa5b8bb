// Before the first paint, so that nobody who wants it dark sees it flash white.
(() => {
  let wanted = 'auto';
  try {
    wanted = localStorage.getItem('spillway-color-scheme') || 'auto';
  } catch {
    // storage may be forbidden: the system decides
  }
  const dark = wanted === 'dark' || (wanted === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light');
  document.documentElement.style.background = dark ? '#0f1218' : '#f7f8fa';
})();
