"""Watch a system at work: e-values for calibration and the class mix, valid whenever you look."""

from deciban.monitoring.calibration import CalibrationETest, calibration_e_test
from deciban.monitoring.monitor import Monitor, MonitorState, Watch

__all__ = ["CalibrationETest", "Monitor", "MonitorState", "Watch", "calibration_e_test"]
