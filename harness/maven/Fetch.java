import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import javax.inject.Inject;
import javax.inject.Named;
import javax.inject.Singleton;
import org.apache.maven.AbstractMavenLifecycleParticipant;
import org.apache.maven.MavenExecutionException;
import org.apache.maven.execution.MavenSession;
import org.apache.maven.project.MavenProject;
import org.eclipse.aether.DefaultRepositorySystemSession;
import org.eclipse.aether.RepositorySystem;
import org.eclipse.aether.artifact.DefaultArtifact;
import org.eclipse.aether.repository.RemoteRepository;
import org.eclipse.aether.repository.RepositoryPolicy;
import org.eclipse.aether.resolution.ArtifactRequest;
import org.eclipse.aether.resolution.ArtifactResolutionException;

/**
 * Has Maven fetch the artefacts that a file names into its local repository, from wherever its settings say, and do no
 * more: no plugin is loaded, so nothing that was fetched runs before the caller has checked it.
 */
@Named
@Singleton
public final class Fetch extends AbstractMavenLifecycleParticipant {
    private static final int AT_ONCE = 16; // without a network it ends after one such batch
    private static final int TRIES = 3;

    private final RepositorySystem system;

    @Inject
    Fetch(RepositorySystem system) {
        this.system = system;
    }

    @Override
    public void afterProjectsRead(MavenSession session) throws MavenExecutionException {
        MavenProject project = session.getCurrentProject();
        Path list = Path.of(session.getUserProperties().getProperty("benchbook.artefacts"));
        Set<RemoteRepository> from = new LinkedHashSet<>(project.getRemoteProjectRepositories());
        from.addAll(project.getRemotePluginRepositories());
        try {
            List<ArtifactRequest> requests = new ArrayList<>();
            for (String coordinates : Files.readAllLines(list)) {
                requests.add(new ArtifactRequest(new DefaultArtifact(coordinates), List.copyOf(from), null));
            }
            DefaultRepositorySystemSession each = new DefaultRepositorySystemSession(session.getRepositorySession());
            each.setChecksumPolicy(RepositoryPolicy.CHECKSUM_POLICY_IGNORE); // a sum from the same source proves nothing
            each.setResolutionErrorPolicy(null); // else a failure is remembered, and no second attempt is made
            for (int first = 0; first < requests.size(); first += AT_ONCE) {
                fetch(each, requests.subList(first, Math.min(first + AT_ONCE, requests.size())));
            }
        } catch (IOException | ArtifactResolutionException error) {
            Throwable first = error.getCause() == null ? error : error.getCause(); // one artefact's, not all their names
            throw new MavenExecutionException(first.getMessage(), first);
        }
    }

    private void fetch(DefaultRepositorySystemSession session, List<ArtifactRequest> requests)
            throws ArtifactResolutionException {
        for (int tried = 1; ; tried++) {
            try {
                system.resolveArtifacts(session, requests);
                return;
            } catch (ArtifactResolutionException error) {
                if (tried == TRIES) {
                    throw error;
                }
            }
        }
    }
}
