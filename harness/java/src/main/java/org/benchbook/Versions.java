package org.benchbook;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** The versions of the libraries in this jar, which the build writes. */
public final class Versions {
    private Versions() {}

    public static String find(String library) {
        Properties versions = new Properties();
        try (InputStream file = Versions.class.getResourceAsStream("/versions.properties")) {
            versions.load(file);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return versions.getProperty(library);
    }
}
