"""The dashboard: a page that shows a fleet as it changes, and the server behind it.

    server       the application: routes, headers, what a request must bring (`http_guard`)
    sessions     who has signed in; in memory, bounded, over after a while
    rights       what of the fleet a user may see, asked of the control plane by access reviews
    following    the fleet as it is, by informers; renders the views of each scope when something has changed
    views        pure functions: from what was seen of the fleet to rows of the page
    feed         versions of these rows: a ring of changes to resume from, and who reads them
    pictures     the whole fleet at one instant, for questions
    answering    questions of one user: explain, what if, resilience, lint; asked of `answers` and `lint`
    asked_as_user   manifests and labels, asked with the user's own credential
    acting       what an operator does, as the user who has signed in, by `operations`

The page shows what the server says, and makes no sentence itself. No secret leaves the process.
"""
