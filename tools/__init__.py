"""What maintains the suite and no run needs: ``python -m tools.NAME``, from the checkout's folder."""
