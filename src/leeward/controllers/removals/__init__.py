"""Knowledge of the fleet that holds back the removal of a Work, for the binding and the execution controller."""
