"""`python -m kubeserver`."""

from kubeserver.cli import main

if __name__ == "__main__":
    main()
