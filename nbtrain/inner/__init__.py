"""The private names of TensorFlow and Keras that nbtrain uses, and what happens without each.

Some methods of other libraries are replaced while a run trains, by these modules only.

    what                                                   where                restored
    `write` of sys.stdout and sys.stderr,
      `logging.Logger.callHandlers`, `warnings.showwarning` run/output           after the last run
    `fit` and others of a model that is trained            keras/guard          when the run ends
    `train_step`, `train_function` of a model,
      and methods of its metrics                           keras/loss, trackers after the fit
    `evaluate` of a model under a `RunCallback`            keras/fit_validation after the fit
    `__call__` of each `tf.function`, for one thread       inner/tensorflow     after a question
    `collect`, `assign_add` and `assign_sub` of a
      hyperparameter's variable                            engines/eager_variable when the run ends
    `run` and `make_callable` of a Supervisor's session    tf1/session_mutex    when it closes
    `run` of a MonitoredSession's session                  tf1/hooks/run_hook   at its first step
    `close` of such sessions                               tf1/servers          never: closed once
    `run` of a thread that serves a graph                  run/thread/threads   when it ends
    the message handler of nbtrain's own widgets           panel/comm           when they close
    `sys.argv` in the process of a cluster's task          worker               when it ends
"""
