// Before anything is drawn: the colours that were chosen here, if others than the system's.
"use strict";
try {
  const chosen = localStorage.getItem("tidegate.theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch {
  // Storage may be forbidden: the system's colours it is.
}
