"""MongoDB through its Node.js driver and through an object mapper (study `drivers`)."""
